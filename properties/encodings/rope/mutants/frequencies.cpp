// Wrong frequencies, angles and scalings.
#include <algorithm>

#include "properties/encodings/rope/mutants/mutants.hpp"
#include "properties/faults/angle_faults.hpp"

namespace assay::properties::encodings::rope {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary

// Other steps of the exponent.
recipe_change<recipe> with_steps(std::size_t (*steps)(std::size_t features, std::size_t pairs)) {
  return [steps](auto& how) { how.steps = steps; };
}
recipe_change<recipe> with_frequencies_in(core::dtype held) {
  return [held](auto& how) {
    how.frequency = [held](const auto& base, std::size_t t, std::size_t steps) {
      return held_in(held, geometric_frequency(base, t, steps));
    };
  };
}
recipe_change<recipe> with_rotation(rotation<R> (*rotation_at)(const R& position, const R& theta)) {
  return [rotation_at](recipe& how) { how.rotation_at = rotation_at; };
}

rotation<R> rotation_by_parts(const R& position, const R& theta) {
  const auto [rest, turned] = reduced_by_parts(position * theta);
  rotation<R> r(rest);
  if (turned)
    for (R* x : {&r.cosine, &r.sine}) *x = -*x;
  return r;
}

// The setting; empty where the operation has none.
std::string scaling_of(const request& call) {
  return call.operation->attribute("scaling") == nullptr ? "" : setting_of<std::string>(call, "scaling");
}

void multiply_by_scale(request& call) {
  if (call.operation->attribute("position_scale") == nullptr) return;
  const auto scale = setting_of<double>(call, "position_scale");
  for (double& m : call.inputs.at("position").values.storage()) m *= scale;
  set_setting(call, "position_scale", 1.0);
}

}  // namespace

std::vector<variant> frequency_mutants() {
  return {
      // The table of frequencies has a column for the coordinate that is left over.
      changed_rope("mutant/rope_pairs_rounded_up", "RP07 lucidrains/rotary-embedding-torch#45",
                   "an odd d has the frequencies of d + 1",
                   {.formula = with_steps([](std::size_t features, std::size_t pairs) {
                      return pairs == features / 2 ? (features + 1) / 2 : pairs;
                    })}),
      changed_rope("mutant/rope_exponent_of_whole_head",
                   "a convention of published programs (see RP07 fla-org/flash-linear-attention#1177)",
                   "partial rotary with the exponents of the whole head, base^(-2t/d)",
                   {.formula = with_steps([](std::size_t features, std::size_t) { return features / 2; })}),
      changed_rope(
          "mutant/rope_slowest_is_whole_base",
          "a convention of published programs, tensorflow/tensor2tensor among them", "exponents t/(r-1) instead of t/r",
          {.formula = with_steps([](std::size_t, std::size_t pairs) { return std::max<std::size_t>(pairs, 2) - 1; })}),
      changed_rope("mutant/rope_frequencies_in_bf16", "sgl-project/sglang-jax#1472", "frequencies are rounded to bf16",
                   {.formula = with_frequencies_in(core::dtype::bf16)}),
      changed_rope("mutant/rope_tables_in_bf16", "DT13 KellerJordan/modded-nanogpt#39",
                   "cosines and sines are rounded to bf16",
                   {.formula = with_rotation([](const R& position, const R& theta) {
                      rotation<R> r(position * theta);
                      for (R* x : {&r.cosine, &r.sine}) *x = R(core::round_to(core::dtype::bf16, x->number));
                      return r;
                    }),
                    .telling = true}),
      // f32 is declared.
      changed_rope("mutant/rope_angles_in_storage", "DT11 huggingface/transformers#25681",
                   "all is computed in the storage dtype",
                   {.arithmetic = in_storage,
                    .declared =
                        [](description& about) {
                          for (const core::dtype t : {core::dtype::f16, core::dtype::bf16})
                            about.compute[t] = core::dtype::f32;
                        },
                    .shown_in = core::dtype::bf16}),
      changed_rope("mutant/rope_base_always_scaled", "RP11 vllm-project/vllm#5093",
                   "the base is stretched where no scaling is wanted",
                   {.inputs =
                        [](request& call) {
                          if (scaling_of(call) != "none") return;
                          set_setting<std::string>(call, "scaling", "ntk");
                          set_setting(call, "factor", 2.0);
                        },
                    .telling = true}),
      changed_rope("mutant/rope_interpolated_twice", "RP16 sgl-project/sglang#33558", "the factor is squared",
                   {.inputs =
                        [](request& call) {
                          for (const char* name : {"position_scale", "factor"})
                            change_setting<double>(call, name, [](double s) { return s * s; });
                        }}),
      changed_rope("mutant/rope_interpolation_inverted", "RP14 ml-explore/mlx-lm#1554", "positions times the scale",
                   {.inputs = multiply_by_scale}),
      changed_rope(
          "mutant/rope_base_times_factor", "RP14 lablup/mlxcel#1324",
          "base' = base factor instead of base factor^(d/(d-2))",
          {.formula =
               [](auto& how) { how.stretch = geometric_frequency<typename std::decay_t<decltype(how)>::number>; }}),
      changed_rope("mutant/rope_fixed_base", "GPT-J of huggingface/transformers", "the base is 10000 always",
                   {.inputs = [](request& call) { set_setting(call, "base", 10000.0); }, .telling = true}),
      changed_rope("mutant/rope_wrong_sign", "a convention of published programs", "rotates by -m theta",
                   {.formula =
                        [](recipe& how) {
                          how.forward = turned_back<R>;
                          how.backward = turned<R>;
                        }}),
      changed_rope("mutant/rope_sine_and_cosine_swapped",
                   "GPT-J of huggingface/transformers: sines stand first in its table",
                   "cosine and sine change places in the second coordinate",
                   {.formula =
                        [](recipe& how) {
                          how.forward = [](const coordinate_pair<R>& x, const rotation<R>& by) -> coordinate_pair<R> {
                            return {x.first * by.cosine - x.second * by.sine, x.first * by.cosine + x.second * by.sine};
                          };
                        }}),
      changed_rope("mutant/rope_frequencies_in_f16", "DT12 EleutherAI/gpt-neox#1003", "frequencies are rounded to f16",
                   {.formula = with_frequencies_in(core::dtype::f16)}),
      // One step of range reduction, as fast trigonometric functions have it. In f32 a 2 pi of 24 bits is no worse than
      // the rounding of the angle.
      changed_rope("mutant/rope_fast_sine", "kekzl/imp#1317", "angles are reduced by a 2 pi of 24 bits",
                   {.formula = with_rotation(
                        [](const R& position, const R& theta) { return rotation<R>(reduced_once(position * theta)); }),
                    .shown_in = core::dtype::f64}),
      // No worse than the rounding of the angle but for the fastest pair, whose angle is exact.
      changed_rope("mutant/rope_reduction_runs_out_of_bits", "tenstorrent/tt-metal#51845",
                   "angles beyond 10^5 are reduced by multiples of pi that are not exact",
                   {.formula = with_rotation(rotation_by_parts)}),
      changed_rope("mutant/rope_base_too_is_interpolated", "RP14 lablup/mlxcel#1389",
                   "interpolation stretches the base, too",
                   {.inputs =
                        [](request& call) {
                          if (scaling_of(call) != "interpolation") return;
                          const auto factor = setting_of<double>(call, "factor");
                          change_each(call.inputs, "base", [factor](double base) { return base * factor; });
                        }}),
      // The table that a long context needed stays for short ones.
      changed_rope("mutant/rope_factor_stays", "RP12 huggingface/transformers#25306",
                   "the largest factor of all calls so far is in use",
                   {.inputs =
                        [largest = 1.0](request& call) mutable {
                          if (scaling_of(call) != "ntk") return;
                          largest = std::max(largest, setting_of<double>(call, "factor"));
                          set_setting(call, "factor", largest);
                        },
                    .declared = nothing_declared,
                    .remembers = true}),
  };
}

}  // namespace assay::properties::encodings::rope
