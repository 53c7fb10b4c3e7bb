// Frequencies and magnitudes for longer contexts: faults of public reports, and right code.
#include <algorithm>
#include <cmath>

#include "properties/encodings/rope/longer_contexts.hpp"
#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/rope.hpp"

namespace assay::properties::encodings::rope {
namespace {

using of_rope = reference::encodings::rope;
using reference::extension;
using R = reference::rounded;
using recipe = of_rope::recipe<R>;
using ramp = reference::ramp_of_pairs<R>;
inline constexpr auto& variant_of = make_variant<of_rope>;

/// A frequency of the right one: f(settings, ramp, base, theta, t).
template <class F>
variation<of_rope> with_frequency(F f) {
  return {.formula = [f](recipe& how) { how.extend = f; }};
}
/// A magnitude of the right one m: f(rule, m).
template <class F>
variation<of_rope> with_magnitude(F f) {
  return {.formula = [f](auto& how) {
    how.magnitude = [f](const core::attributes& settings, const auto& factor) {
      return f(core::setting<std::string>(settings, "rule"), reference::magnitude_at(settings, factor));
    };
  }};
}
void exchange_betas(request& call) {
  if (call.operation->attribute("beta_fast") == nullptr) return;
  const auto fast = setting_of<double>(call, "beta_fast");
  set_setting(call, "beta_fast", setting_of<double>(call, "beta_slow"));
  set_setting(call, "beta_slow", fast);
}
// The quotient of the two lengths, which a configuration may hold besides.
void factor_of_lengths(request& call) {
  if (call.operation->attribute("length") == nullptr) return;
  set_setting(call, "factor",
              std::max(1.0, static_cast<double>(setting_of<std::int64_t>(call, "length")) /
                                static_cast<double>(setting_of<std::int64_t>(call, "trained_length"))));
}

R with_factor_in_power(extension by, const ramp& share, const R& base, const R& theta, std::size_t t) {
  by.factor = std::pow(by.factor, static_cast<double>(t) / static_cast<double>(by.pairs));
  return reference::extended_frequency(by, share, base, theta, t);
}
R with_ramp_reversed(const extension& by, const ramp& share, const R& base, const R& theta, std::size_t t) {
  const ramp reversed = [&](std::size_t pair) { return R(1.0) - share(pair); };
  return reference::extended_frequency(by, share ? reversed : share, base, theta, t);
}
// The longest context that the factor is for, which is no integer: s L / L0 - (s - 1) is s^2 - s + 1 always.
R of_longest_length(extension by, const ramp& share, const R& base, const R& theta, std::size_t t) {
  if (by.of == extension::kind::dynamic) by.length = by.factor * by.trained_length;
  return reference::extended_frequency(by, share, base, theta, t);
}
// In the band between low and high of llama3 the wavelengths are blended: kept(settings, theta) of them.
template <R kept(const extension& by, const R& theta)>
R with_wavelengths(const extension& by, const ramp& share, const R& base, const R& theta, std::size_t t) {
  const R by_turns = reference::kept_by_turns(by, theta);
  if (by.of != extension::kind::llama3 || by_turns.number <= 0.0 || by_turns.number >= 1.0)
    return reference::extended_frequency(by, share, base, theta, t);
  const R unstretched = kept(by, theta);
  return theta / ((R(1.0) - unstretched) * reference::from_setting<R>(by.factor) + unstretched);
}
// Linear in the wavelength, 0 at the short end.
R kept_by_wavelength(const extension& by, const R& theta) {
  const R trained = reference::from_setting<R>(by.trained_length), wavelength = R(2.0) * reference::pi<R>() / theta,
          shortest = trained / reference::from_setting<R>(by.fast),
          longest = trained / reference::from_setting<R>(by.slow);
  return (wavelength - shortest) / (longest - shortest);
}

// As huggingface/transformers computes them.
R as_published(const extension& by, const ramp& share, const R& base, const R& theta, std::size_t t) {
  using kind = extension::kind;
  const auto r = static_cast<double>(by.pairs);
  const R one(1.0), s = reference::from_setting<R>(by.factor);
  if (by.of == kind::llama3) {
    const R trained = reference::from_setting<R>(by.trained_length), low = reference::from_setting<R>(by.slow),
            high = reference::from_setting<R>(by.fast), wavelength = R(2.0) * reference::pi<R>() / theta;
    if (wavelength.number < (trained / high).number) return theta;
    if (wavelength.number > (trained / low).number) return theta / s;
    const R smooth = (trained / wavelength - low) / (high - low);
    return (one - smooth) * theta / s + smooth * theta;
  }
  if (by.of == kind::yarn && share && !by.by_wavelengths) {
    const R wavelength = one / theta, kept = one - share(t);
    return one / (s * wavelength) * (one - kept) + one / wavelength * kept;
  }
  if (by.of == kind::dynamic && by.pairs > 1) {
    const R longer = reference::larger(one, s * reference::from_setting<R>(by.length / by.trained_length) - (s - one)),
            stretched = base * pow(longer, R(r) / R(r - 1.0));
    return one / pow(stretched, R(static_cast<double>(t)) / R(r));
  }
  if (by.of == kind::ntk_fixed) return one / pow(base * s, R(static_cast<double>(t)) / R(r)) / pow(s, one / R(r));
  return reference::extended_frequency(by, share, base, theta, t);
}

}  // namespace

std::vector<variant> mutants_of_longer_contexts() {
  return all_of({
      reported_faults({
          {"mutant/rope_ramp_ends_at_pairs", "jingyaogong/minimind#602", "rope/extended_frequencies/last/always_pairs"},
          {"mutant/rope_steps_one_late", "InternLM/lmdeploy#536, InternLM/lmdeploy#571: a token more than there is",
           "rope/extended_frequencies/length/one_off"},
          {"mutant/rope_steps_of_first_length", "QwenLM/Qwen#401: decoding has the steps of the prompt",
           "rope/extended_frequencies/length/stuck_at_first"},
          {"mutant/rope_long_at_trained_length",
           "unslothai/unsloth#10681: < for <=", "rope/switched_frequencies/switch/always_at_or_above"},
          {"mutant/rope_list_of_first_length",
           "huggingface/transformers#33129, vllm-project/vllm#27431: later calls have the list of the first one",
           "rope/switched_frequencies/length/stuck_at_first"},
      }),
      {
          variant_of("mutant/rope_factor_in_power", "apache/tvm#18576", "the factor is raised to 2t/d",
                     with_frequency(with_factor_in_power)),
          variant_of("mutant/rope_ramp_reversed", "Lightning-AI/litgpt, build_rope_cache",
                     "the fast pairs are interpolated, and the slow ones left alone",
                     with_frequency(with_ramp_reversed)),
          variant_of("mutant/rope_betas_exchanged", "pytorch/torchtitan#3787", "beta_fast and beta_slow are exchanged",
                     {.inputs = exchange_betas}),
          variant_of("mutant/rope_factor_of_lengths", "huggingface/transformers#38224",
                     "the factor is the length by the trained length, whatever it is declared to be",
                     {.inputs = factor_of_lengths}),
          variant_of("mutant/rope_scaling_not_applied",
                     "unslothai/unsloth#6197, lablup/mlxcel#1355, felafax/felafax#59, jmaczan/tiny-vllm#1",
                     "frequencies are those of short contexts",
                     with_frequency(
                         [](const extension&, const ramp&, const R&, const R& theta, std::size_t) { return theta; })),
          variant_of("mutant/rope_wavelengths_blended_backwards", "ml-explore/mlx-examples#907, its first version",
                     "llama3 blends wavelengths by their share of the band, the short ones stretched most",
                     with_frequency(with_wavelengths<kept_by_wavelength>)),
          variant_of("mutant/rope_wavelengths_blended",
                     "ml-explore/mlx-examples#907, with its ends the right way round",
                     "llama3 blends wavelengths instead of frequencies",
                     with_frequency(with_wavelengths<reference::kept_by_turns<R>>)),
          variant_of("mutant/rope_longest_length_always",
                     "vllm-project/vllm#41236, vllm-project/vllm#5093, vllm-project/vllm#3488",
                     "the base is stretched for the longest context at every length",
                     with_frequency(of_longest_length)),
          variant_of("mutant/rope_long_list_always", "lablup/mlxcel#1358", "short sequences have the long list",
                     {.inputs =
                          [](request& call) {
                            if (call.operation->input("long_factor") != nullptr)
                              call.inputs.at("short_factor") = call.inputs.at("long_factor");
                          }}),
          variant_of("mutant/rope_magnitude_of_magnitude", "NVIDIA/TensorRT-LLM#16379",
                     "a magnitude is the coefficient of another one",
                     with_magnitude([](const std::string& rule, const auto& m) {
                       using number = std::decay_t<decltype(m)>;
                       return rule == "yarn" ? m * (m - number(1.0)) + number(1.0) : m;
                     })),
          variant_of("mutant/rope_magnitude_squared", "sgl-project/sglang#33558", "magnitudes are squared",
                     with_magnitude([](const std::string&, const auto& m) { return m * m; })),
      },
  });
}

std::vector<variant> controls_of_longer_contexts() {
  return {
      variant_of("control/rope_as_published", "huggingface/transformers and vllm-project/vllm",
                 "three branches, inverse frequencies and a stretched base", with_frequency(as_published)),
      variant_of("control/rope_ratio_of_equal", "yarn_get_mscale of deepseek-ai/DeepSeek-V3",
                 "a quotient, also of equal numbers",
                 {.formula =
                      [](auto& how) {
                        how.magnitude = [](const core::attributes& settings, const auto& factor) {
                          const auto by = [&](const char* coefficient) {
                            core::attributes of_yarn = settings;
                            of_yarn["rule"] = std::string("yarn");
                            of_yarn["mscale"] = settings.at(coefficient);
                            return reference::magnitude_at(of_yarn, factor);
                          };
                          const bool is_ratio = core::setting<std::string>(settings, "rule") == "ratio";
                          return is_ratio ? by("mscale") / by("mscale_all_dim")
                                          : reference::magnitude_at(settings, factor);
                        };
                      }}),
      variant_of("control/rope_numbers_in_f64", "configurations in Python: numbers in f64, rounded once",
                 "another precision",
                 [] {
                   variation<of_rope> how = with_frequency(as_published);
                   how.arithmetic = in_f64;
                   return how;
                 }()),
  };
}

}  // namespace assay::properties::encodings::rope
