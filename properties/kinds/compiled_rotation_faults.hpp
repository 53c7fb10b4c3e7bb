// The same of encodings that are compiled for each reading.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "properties/faults/angle_faults.hpp"
#include "properties/kinds/rotation_faults.hpp"
#include "reference/algorithms/settings.hpp"
#include "reference/kinds/rotation.hpp"

namespace assay::properties::compiled {

// Wrong steps, for any reading.

inline constexpr auto turned_backwards = []<class N>(
                                             const reference::coordinate_pair<N>& x,
                                             const reference::rotation<N>& by) -> reference::coordinate_pair<N> {
  return {x.first * by.cosine + x.second * by.sine, x.second * by.cosine - x.first * by.sine};
};
inline constexpr auto turned_by_swapped = []<class N>(
                                              const reference::coordinate_pair<N>& x,
                                              const reference::rotation<N>& by) -> reference::coordinate_pair<N> {
  return {x.first * by.cosine - x.second * by.sine, x.first * by.cosine + x.second * by.sine};
};
inline constexpr auto rotation_in_bf16 = []<class N>(const N& position, const N& theta) {
  reference::rotation<N> r(position * theta);
  for (N* x : {&r.cosine, &r.sine}) *x = held_in(core::dtype::bf16, *x);
  return r;
};
inline constexpr auto cosine_as_sine = []<class N>(const N& position, const N& theta) {
  const N angle = position * theta;
  reference::rotation<N> r(angle);
  r.cosine = reference::rotation<N>(reference::from_setting<N>(M_PI_2) - angle).sine;
  return r;
};
inline constexpr auto rotation_reduced_once = []<class N>(const N& position, const N& theta) {
  return reference::rotation<N>(reduced_once(position * theta));
};
inline constexpr auto rotation_by_parts = []<class N>(const N& position, const N& theta) {
  const auto [rest, turned] = reduced_by_parts(position * theta);
  reference::rotation<N> r(rest);
  if (turned)
    for (N* x : {&r.cosine, &r.sine}) *x = -*x;
  return r;
};
/// Whose cosine has the derivative 0, and whose sine 1: the torque of x in place of y.
inline constexpr auto rotation_of_saved_input = []<class N>(const N& position, const N& theta) {
  const N angle = position * theta;
  reference::rotation<N> r(angle);
  r.cosine = N(r.cosine.number);
  r.sine = N(r.sine.number) + (angle - N(angle.number));
  return r;
};

/// Faults of positions, pairs, angles and gradients beyond those that follow from a declaration.
template <class Encoding>
std::vector<variant> faults_of_rotation(const std::string& name) {
  const auto fault = [&](const char* what, const char* models, const char* summary, variation<Encoding> how) {
    return make_variant<Encoding>("mutant/" + name + "_" + what, models, summary, std::move(how));
  };
  return {
      fault("offset_dropped", "RP08 flashinfer-ai/flashinfer#847", "every row starts at position 0",
            {.inputs = with_position([](const token_positions& m, std::size_t row, std::size_t token) {
               return m(row, token) - m(row, 0);
             })}),
      fault("single_query_at_zero", "RP10 RobertCsordas/moeut#6", "a single token is at position 0",
            {.inputs = with_position([](const token_positions& m, std::size_t row, std::size_t token) {
               return m.shape(1) == 1 ? 0.0 : m(row, token);
             })}),
      fault("counted_from_one", "RP18 vllm-project/vllm#55910: +1", "positions count from 1",
            {.inputs = with_each_position([](double m) { return m + 1.0; }), .telling = true}),
      // Of a table for 2048 positions.
      fault("table_one_short", "RP18 microsoft/onnxruntime#28205", "position 2047 is 2046",
            {.inputs = with_each_position([](double m) { return m == 2047.0 ? 2046.0 : m; })}),
      fault("unrotated_beyond_table", "a masked load of fla-org/flash-linear-attention",
            "positions from 2048 on are not rotated",
            {.inputs = with_each_position([](double m) { return m < 2048.0 ? m : 0.0; })}),
      fault("positions_of_heads", "RP14 ml-explore/mlx-lm#1553, mlfoundations/open_lm#4: the axis of heads",
            "positions run along the heads instead of the tokens",
            {.inputs = heads_as_tokens, .outputs = tokens_again}),
      fault("rest_is_zero", "RP07 fla-org/flash-linear-attention#1177", "coordinates that do not rotate become 0",
            {.outputs = clear_the_rest}),
      fault("wrong_sign", "karpathy/nanochat#489: the other direction than that of the weights", "rotates by -m theta",
            {.formula = [](auto& how) { how.turn = turned_backwards; }, .telling = true}),
      fault("sine_and_cosine_swapped", "GPT-J of huggingface/transformers: sines stand first in its table",
            "cosine and sine change places in the second coordinate",
            {.formula = [](auto& how) { how.turn = turned_by_swapped; }}),
      fault("tables_in_bf16", "DT13 KellerJordan/modded-nanogpt#39", "cosines and sines are rounded to bf16",
            {.formula = [](auto& how) { how.rotation_at = rotation_in_bf16; }, .telling = true}),
      fault("tables_of_halves", "Cohere of huggingface/transformers, huggingface/pytorch-image-models#2692: one of two",
            "neighbours are paired, and columns of cosines and sines in the order of halves",
            {.outputs = [](core::tensors& y,
                           const request& call) { take_columns_of_other_layout(y, call, "interleaved"); }}),
      fault("cosine_as_sine", "a unit that has sines alone", "cosines are sines of pi/2 - m theta",
            {.formula = [](auto& how) { how.rotation_at = cosine_as_sine; }}),
      // f32 is declared.
      fault("angles_in_storage", "DT11 huggingface/transformers#25681", "all is computed in the storage dtype",
            {.arithmetic = in_storage,
             .declared =
                 [](description& about) {
                   for (const core::dtype t : {core::dtype::f16, core::dtype::bf16})
                     about.compute[t] = core::dtype::f32;
                 },
             .shown_in = core::dtype::bf16}),
      // One step of range reduction, as fast trigonometric functions have it. In f32 a 2 pi of 24 bits is no worse than
      // the rounding of the angle.
      fault("fast_sine", "kekzl/imp#1317", "angles are reduced by a 2 pi of 24 bits",
            {.formula = [](auto& how) { how.rotation_at = rotation_reduced_once; }, .shown_in = core::dtype::f64}),
      // No worse than the rounding of the angle but for the fastest pair, whose angle is exact.
      fault("reduction_runs_out_of_bits", "tenstorrent/tt-metal#51845",
            "angles beyond 10^5 are reduced by multiples of pi that are not exact",
            {.formula = [](auto& how) { how.rotation_at = rotation_by_parts; }}),
      fault("gradient_turned_forwards", "GR27 state-spaces/mamba#537: a gradient alone is wrong",
            "the gradient is rotated by R_m instead of R_-m",
            {.gradient = [](auto& how) { how.turn = turned_backwards; }}),
      fault("torque_of_input", "GR08 pytorch/pytorch#36308: the wrong tensor saved",
            "the gradients of angles have x for y",
            {.gradient = [](auto& how) { how.rotation_at = rotation_of_saved_input; }}),
  };
}

// Other right steps.

/// Two coordinates as a complex number: each product rounded once.
inline reference::coordinate_pair<reference::rounded> turned_as_complex(
    const reference::coordinate_pair<reference::rounded>& x, const reference::rotation<reference::rounded>& by) {
  const double a = x.first.number, b = x.second.number, c = by.cosine.number, s = by.sine.number;
  return {reference::rounded(a * c - b * s), reference::rounded(a * s + b * c)};
}
/// For a gradient whose torque is that of y, g_second y_first - g_first y_second, as fused kernels have it: the sine
/// passes on to the angle what the pair gives it.
inline constexpr auto rotation_of_torque = []<class N>(const N& position, const N& theta) {
  const N angle = position * theta;
  reference::rotation<N> r(angle);
  r.cosine = N(r.cosine.number);
  r.sine = N::made(r.sine.number, N::along(angle));
  return r;
};
inline constexpr auto turned_with_torque = []<class N>(
                                               const reference::coordinate_pair<N>& x,
                                               const reference::rotation<N>& by) -> reference::coordinate_pair<N> {
  using number = typename N::underlying;
  const reference::coordinate_pair<number> at{x.first.number, x.second.number};
  reference::rotation<number> r(number(0.0));
  r.cosine = by.cosine.number;
  r.sine = by.sine.number;
  const auto y = reference::turned(at, r);
  const auto cosine = [&] { return r.cosine; };
  return {N::made(y.first, N::by(x.first, cosine), N::by(x.second, [&] { return -r.sine; }),
                  N::by(by.sine, [&] { return -y.second; })),
          N::made(y.second, N::by(x.first, [&] { return r.sine; }), N::by(x.second, cosine),
                  N::by(by.sine, [&] { return y.first; }))};
};

/// Right: ways in which published code computes.
template <class Encoding>
std::vector<variant> controls_of_rotation(const std::string& name) {
  using R = reference::rounded;
  using recipe = typename Encoding::template recipe<R>;
  using reference::rotation;
  const auto control = [&](const char* what, const char* as, const char* summary, variation<Encoding> how) {
    return make_variant<Encoding>("control/" + name + "_" + what, as, summary, std::move(how));
  };
  return {
      control("angles_in_double", "a wider precision for angles", "angles in double",
              {.formula =
                   [](recipe& how) {
                     how.rotation_at = [](const R& position, const R& theta) {
                       return rotation<R>(reference::from_setting<R>(position.number * theta.number));
                     };
                   }}),
      control("tables_gathered", "tables of cosines and sines, gathered", "each rotation is found once",
              {.formula =
                   [](recipe& how) {
                     how.rotation_at = [table = std::map<std::pair<double, double>, rotation<R>>{}](
                                           const R& position, const R& theta) mutable {
                       const rotation<R> found(position * theta);
                       if (std::isnan((position * theta).number)) return found;  // NaN is no key
                       return table.try_emplace({position.number, theta.number}, found).first->second;
                     };
                   }}),
      control("still_pairs_left_alone", "code that rotates from position 1 on",
              "a pair of angle 0 stays as it is, whatever it holds",
              {.formula =
                   [](recipe& how) {
                     how.turn = [](const auto& x, const auto& by) {
                       return to_double(by.sine) == 0.0 && to_double(by.cosine) == 1.0 ? x : reference::turned(x, by);
                     };
                   }}),
      control("complex_products", "complex multiplication, as meta-llama/llama has it",
              "pairs as complex numbers, the torque from y",
              {.formula = [](recipe& how) { how.turn = turned_as_complex; },
               .gradient =
                   [](auto& how) {
                     how.rotation_at = rotation_of_torque;
                     how.turn = turned_with_torque;
                   }}),
      control("usual_stages", "LlamaRotaryEmbedding of huggingface/transformers",
              "f16 and bf16: angles in f32, tables and products in the dtype",
              {.arithmetic = in_usual_stages, .declared = nothing_declared}),
  };
}

}  // namespace assay::properties::compiled
