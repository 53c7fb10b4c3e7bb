// Frequencies and magnitudes for longer contexts: faults of public reports, and right code.
#include <algorithm>
#include <optional>

#include "properties/encodings/rope/longer_contexts.hpp"
#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/faults/scheme_variant.hpp"
#include "reference/encodings/rope.hpp"

namespace assay::properties::encodings::rope {
namespace {

using of_rope = reference::encodings::rope;
using reference::extension, reference::formula::traced;
using ramp = std::optional<traced>;
inline constexpr auto& variant_of = make_variant<of_rope>;
traced number(double x) { return reference::formula::setting(x); }

/// Changes the frequencies: f(settings, base, factor, ramp, theta).
template <class F>
variation<of_rope> with_frequencies(F f) {
  return {.formula = [f](auto& scheme) { scheme.extend = f; }};
}
/// Changes the right magnitude m: f(rule, m).
template <class F>
variation<of_rope> with_magnitude(F f) {
  return {.formula = [f](auto& scheme) {
    scheme.magnitude = [f](const core::attributes& settings, const traced& factor) {
      return f(core::setting<std::string>(settings, "rule"), reference::magnitude_of_extension(settings, factor));
    };
  }};
}
void exchange_betas(request& call) {
  if (call.operation->attribute("beta_fast") == nullptr) return;
  const auto fast = setting_of<double>(call, "beta_fast");
  set_setting(call, "beta_fast", setting_of<double>(call, "beta_slow"));
  set_setting(call, "beta_slow", fast);
}
// Uses the quotient of the two lengths, which a configuration may also hold, as factor.
void factor_of_lengths(request& call) {
  if (call.operation->attribute("length") == nullptr) return;
  set_setting(call, "factor",
              std::max(1.0, static_cast<double>(setting_of<std::int64_t>(call, "length")) /
                                static_cast<double>(setting_of<std::int64_t>(call, "trained_length"))));
}

/// (t + first) / r for each pair t.
traced share_of_pairs(const extension& by, double first = 0.0) {
  return (to_real(reference::formula::counted(by.pairs)) + traced(first)) / traced(static_cast<double>(by.pairs));
}

traced with_factor_in_power(const extension& by, const traced&, const traced& factor, const ramp& share,
                            const traced& theta) {
  const bool by_pairs = by.rule == extension::kind::yarn || by.rule == extension::kind::llama3;
  if (by.rule == extension::kind::ntk_fixed) return theta * pow(factor, -share_of_pairs(by) * share_of_pairs(by, 1.0));
  return reference::extended_frequencies(
      by, by_pairs || by.rule == extension::kind::ntk_mixed ? pow(factor, share_of_pairs(by)) : factor, share, theta);
}
traced with_ramp_reversed(const extension& by, const traced&, const traced& factor, const ramp& share,
                          const traced& theta) {
  return reference::extended_frequencies(by, factor, share ? traced(1.0) - *share : share, theta);
}
// Uses the longest context for which the factor s is meant, s L0, in place of L. It need not be an integer. So s L / L0
// - (s - 1) is always s^2 - s + 1.
traced of_longest_length(extension by, const traced&, const traced& factor, const ramp& share, const traced& theta) {
  if (by.rule == extension::kind::dynamic) by.length = by.factor * by.trained_length;
  return reference::extended_frequencies(by, factor, share, theta);
}
traced wavelength_of(const traced& theta) { return traced(2.0) * reference::pi<traced>() / theta; }
// In llama3's band between low and high, wavelengths are blended; kept(by, theta) is the share that stays.
template <traced kept(const extension& by, const traced& theta)>
traced with_wavelengths(const extension& by, const traced&, const traced& factor, const ramp& share,
                        const traced& theta) {
  const traced right = reference::extended_frequencies(by, factor, share, theta);
  if (by.rule != extension::kind::llama3) return right;
  const traced by_turns = reference::kept_by_turns(by, theta), one(1.0), unstretched = kept(by, theta);
  return either(less(traced(0.0), by_turns) && less(by_turns, one),
                theta / ((one - unstretched) * factor + unstretched), right);
}
// The share is linear in the wavelength, and 0 at the short end.
traced kept_by_wavelength(const extension& by, const traced& theta) {
  const traced trained = number(by.trained_length), shortest = trained / number(by.fast),
               longest = trained / number(by.slow);
  return (wavelength_of(theta) - shortest) / (longest - shortest);
}

// The formulas of huggingface/transformers.
traced as_published(const extension& by, const traced& base, const traced& s, const ramp& share, const traced& theta) {
  using kind = extension::kind;
  const auto r = static_cast<double>(by.pairs);
  const traced one(1.0);
  if (by.rule == kind::llama3) {
    const traced trained = number(by.trained_length), low = number(by.slow), high = number(by.fast),
                 wavelength = wavelength_of(theta), smooth = (trained / wavelength - low) / (high - low);
    return either(less(wavelength, trained / high), theta,
                  either(less(trained / low, wavelength), theta / s, (one - smooth) * theta / s + smooth * theta));
  }
  if (by.rule == kind::yarn && share && !by.by_wavelengths) {
    const traced wavelength = one / theta, kept = one - *share;
    return one / (s * wavelength) * (one - kept) + one / wavelength * kept;
  }
  if (by.rule == kind::dynamic && by.pairs > 1) {
    const traced longer = larger(one, s * number(by.length / by.trained_length) - (s - one)),
                 stretched = base * pow(longer, traced(r) / traced(r - 1.0));
    return one / pow(stretched, share_of_pairs(by));
  }
  if (by.rule == kind::ntk_fixed) return one / pow(base * s, share_of_pairs(by)) / pow(s, one / traced(r));
  return reference::extended_frequencies(by, s, share, theta);
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
          {"mutant/rope_magnitude_of_yarn_always",
           "ml-explore/mlx-lm#1507, vllm-project/vllm#48351: whatever is given; vllm-project/vllm#48621: for a ratio",
           "rope/rotate_extended/rule/always_yarn"},
          {"mutant/rope_whole_call_unscaled", "Blaizzy/mlx-vlm#1478: the scaling of a configuration is not applied",
           "rope/rotate_extended/factor/ignored"},
          {"mutant/rope_magnitude_of_longrope_ignored",
           "pytorch/executorch#19235: LongRoPE without its attention_factor", "rope/rotate_divided/rule/ignored"},
      }),
      {
          variant_of("mutant/rope_factor_in_power", "apache/tvm#18576", "the factor is raised to 2t/d",
                     with_frequencies(with_factor_in_power)),
          variant_of("mutant/rope_ramp_reversed", "Lightning-AI/litgpt, build_rope_cache",
                     "the fast pairs are interpolated, and the slow ones left alone",
                     with_frequencies(with_ramp_reversed)),
          variant_of("mutant/rope_betas_exchanged", "pytorch/torchtitan#3787", "beta_fast and beta_slow are exchanged",
                     {.inputs = exchange_betas}),
          variant_of("mutant/rope_factor_of_lengths", "huggingface/transformers#38224",
                     "the factor is the length by the trained length, whatever it is declared to be",
                     {.inputs = factor_of_lengths}),
          variant_of("mutant/rope_scaling_not_applied",
                     "unslothai/unsloth#6197, lablup/mlxcel#1355, felafax/felafax#59, jmaczan/tiny-vllm#1",
                     "frequencies are those of short contexts",
                     with_frequencies([](const extension&, const traced&, const traced&, const ramp&,
                                         const traced& theta) { return theta; })),
          variant_of("mutant/rope_wavelengths_blended_backwards", "ml-explore/mlx-examples#907, its first version",
                     "llama3 blends wavelengths by their share of the band, the short ones stretched most",
                     with_frequencies(with_wavelengths<kept_by_wavelength>)),
          variant_of("mutant/rope_wavelengths_blended",
                     "ml-explore/mlx-examples#907, with its ends the right way round",
                     "llama3 blends wavelengths instead of frequencies",
                     with_frequencies(with_wavelengths<reference::kept_by_turns>)),
          variant_of("mutant/rope_longest_length_always",
                     "vllm-project/vllm#41236, vllm-project/vllm#5093, vllm-project/vllm#3488",
                     "the base is stretched for the longest context at every length",
                     with_frequencies(of_longest_length)),
          variant_of("mutant/rope_long_list_always", "lablup/mlxcel#1358", "short sequences have the long list",
                     {.inputs =
                          [](request& call) {
                            if (call.operation->input("long_factor") != nullptr)
                              call.inputs.at("short_factor") = call.inputs.at("long_factor");
                          }}),
          variant_of("mutant/rope_magnitude_of_magnitude", "NVIDIA/TensorRT-LLM#16379",
                     "a magnitude is the coefficient of another one",
                     with_magnitude([](const std::string& rule, const traced& m) {
                       return rule == "yarn" ? m * (m - traced(1.0)) + traced(1.0) : m;
                     })),
          variant_of("mutant/rope_magnitude_squared", "sgl-project/sglang#33558", "magnitudes are squared",
                     with_magnitude([](const std::string&, const traced& m) { return m * m; })),
      },
  });
}

std::vector<variant> controls_of_longer_contexts() {
  return {
      variant_of("control/rope_as_published", "huggingface/transformers and vllm-project/vllm",
                 "three branches, inverse frequencies and a stretched base", with_frequencies(as_published)),
      variant_of("control/rope_ratio_of_equal", "yarn_get_mscale of deepseek-ai/DeepSeek-V3",
                 "a quotient, also of equal numbers",
                 {.formula =
                      [](auto& scheme) {
                        scheme.magnitude = [](const core::attributes& settings, const traced& factor) {
                          const auto by = [&](const char* coefficient) {
                            core::attributes yarn_settings = settings;
                            yarn_settings["rule"] = std::string("yarn");
                            yarn_settings["mscale"] = settings.at(coefficient);
                            return reference::magnitude_of_extension(yarn_settings, factor);
                          };
                          const bool is_ratio = core::setting<std::string>(settings, "rule") == "ratio";
                          return is_ratio ? by("mscale") / by("mscale_all_dim")
                                          : reference::magnitude_of_extension(settings, factor);
                        };
                      }}),
      variant_of("control/rope_numbers_in_f64", "configurations in Python: numbers in f64, rounded once",
                 "another precision",
                 [] {
                   variation<of_rope> change = with_frequencies(as_published);
                   change.arithmetic = in_f64;
                   return change;
                 }()),
  };
}

}  // namespace assay::properties::encodings::rope
