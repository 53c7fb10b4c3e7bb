// Variants of rotations (reference/kinds/rotation.hpp), wrong ones and right ones.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "properties/faults/angle_faults.hpp"
#include "properties/faults/scheme_variant.hpp"
#include "reference/kinds/rotation.hpp"

namespace assay::properties {

// Changes to calls.

using change_of_call = std::function<void(request&)>;
using token_positions = xt::xarray<double>;  ///< by row and token
/// Another position for each token, on each axis, computed from the given positions. The results are not rounded to the
/// dtype of the positions.
change_of_call with_position(double (*position)(const token_positions& given, std::size_t row, std::size_t token));
/// The same, from the token's own position alone.
change_of_call with_each_position(double (*new_position)(double m));
/// Positions run along the heads; the last position stands for all heads beyond them.
void heads_as_tokens(request& call);
/// Exchanges heads and tokens of the outputs again.
void tokens_again(core::tensors& outputs, const request& call);
/// Pairs follow this layout, whatever is asked for, and the columns of the tables of cosines and sines have the order
/// of the other layout.
void take_columns_of_other_layout(core::tensors& outputs, request call, const char* layout);
/// Sets coordinates that do not turn to 0.
void clear_the_rest(core::tensors& outputs, const request& call);

// Wrong steps.

namespace rotations {
using reference::traced_pairs, reference::traced_rotation, reference::formula::traced;

inline traced_pairs turned_backwards(const traced_pairs& x, const traced_rotation& by) {
  return {x.first * by.cosine + x.second * by.sine, x.second * by.cosine - x.first * by.sine};
}
inline traced_pairs turned_by_swapped(const traced_pairs& x, const traced_rotation& by) {
  return {x.first * by.cosine - x.second * by.sine, x.first * by.cosine + x.second * by.sine};
}
inline traced_rotation in_bf16(const traced& position, const traced& theta) {
  traced_rotation r(position * theta);
  for (traced* x : {&r.cosine, &r.sine}) *x = held_in(core::dtype::bf16, *x);
  return r;
}
inline traced_rotation with_cosine_as_sine(const traced& position, const traced& theta) {
  const traced angle = position * theta;
  traced_rotation r(angle);
  r.cosine = traced_rotation(reference::formula::setting(M_PI_2) - angle).sine;
  return r;
}
/// Reduces angles with a 2 pi of 24 bits.
inline traced_rotation reduced_once(const traced& position, const traced& theta) {
  return traced_rotation(properties::reduced_once(position * theta));
}
inline traced_rotation reduced_by_parts(const traced& position, const traced& theta) {
  const auto [rest, turned] = properties::reduced_by_parts(position * theta);
  traced_rotation r(rest);
  for (traced* x : {&r.cosine, &r.sine}) *x = either(turned, -*x, *x);
  return r;
}
/// A rotation whose cosine has the derivative 0 and whose sine has the derivative 1: the gradient that a pair gives the
/// sine is the torque of the angle. It is the torque of x if the pair is turned correctly.
inline traced_rotation of_torque(const traced& position, const traced& theta) {
  const traced angle = position * theta;
  traced_rotation r(angle);
  r.cosine = detach(r.cosine);
  r.sine = with_gradient_of(r.sine, angle);
  return r;
}

// Right steps.

/// The torque is that of y, g_second y_first - g_first y_second, as in fused kernels.
inline traced_pairs turned_with_torque(const traced_pairs& x, const traced_rotation& by) {
  traced_rotation r = by;
  r.cosine = detach(by.cosine);
  r.sine = detach(by.sine);
  const traced_pairs y = reference::turned(x, r);
  return {with_gradient_of(y.first, y.first - detach(y.second) * by.sine),
          with_gradient_of(y.second, y.second + detach(y.first) * by.sine)};
}
inline traced_pairs leaving_still_pairs(const traced_pairs& x, const traced_rotation& by) {
  const auto still = equal(by.sine, traced(0.0)) && equal(by.cosine, traced(1.0));
  const traced_pairs y = reference::turned(x, by);
  return {either(still, x.first, y.first), either(still, x.second, y.second)};
}
/// The rotations of all angles in a row, read from a table whose first entry is the last one.
inline traced_rotation gathered_from_table(const traced& position, const traced& theta) {
  const traced angle = position * theta;
  const core::shape s = shape_of(angle);
  std::size_t count = 1;
  for (const std::size_t size : s) count *= size;
  std::vector<std::int64_t> backwards;
  for (std::size_t k = count; k-- > 0;) backwards.push_back(static_cast<std::int64_t>(k));
  const auto order = reference::formula::known_integers({count}, backwards);
  traced_rotation r(gathered(reshaped(angle, {count}), order, 0));
  for (traced* x : {&r.cosine, &r.sine}) *x = reshaped(gathered(*x, order, 0), s);
  return r;
}
}  // namespace rotations

/// The arithmetic of most code, with one stage in f64.
inline declared_precision angles_in_f64(core::dtype storage) {
  return with_stage_in(core::dtype::f64, "angle", {"table", "product", "series", "scores", "accumulation"}, storage);
}
inline declared_precision products_in_f64(core::dtype storage) {
  return with_stage_in(core::dtype::f64, "product", {"angle", "table", "series", "scores", "accumulation"}, storage);
}

/// Faults of positions, pairs, angles and gradients in addition to those that follow from a declaration.
template <class Encoding>
std::vector<variant> faults_of_rotation(const std::string& name) {
  const auto fault = [&](const char* what, const char* models, const char* summary, variation<Encoding> changes) {
    return make_variant<Encoding>("mutant/" + name + "_" + what, models, summary, std::move(changes));
  };
  return {
      fault("offset_dropped", "flashinfer-ai/flashinfer#847", "every row starts at position 0",
            {.inputs = with_position([](const token_positions& m, std::size_t row, std::size_t token) {
               return m(row, token) - m(row, 0);
             })}),
      fault("single_query_at_zero", "RobertCsordas/moeut#6", "a single token is at position 0",
            {.inputs = with_position([](const token_positions& m, std::size_t row, std::size_t token) {
               return m.shape(1) == 1 ? 0.0 : m(row, token);
             })}),
      fault("counted_from_one", "vllm-project/vllm#55910: +1", "positions count from 1",
            {.inputs = with_each_position([](double m) { return m + 1.0; }), .representative = true}),
      // The table holds 2048 positions.
      fault("table_one_short", "microsoft/onnxruntime#28205", "position 2047 is 2046",
            {.inputs = with_each_position([](double m) { return m == 2047.0 ? 2046.0 : m; })}),
      fault("unrotated_beyond_table", "a masked load of fla-org/flash-linear-attention",
            "positions from 2048 on are not rotated",
            {.inputs = with_each_position([](double m) { return m < 2048.0 ? m : 0.0; })}),
      fault("positions_of_heads", "ml-explore/mlx-lm#1553, mlfoundations/open_lm#4: the axis of heads",
            "positions run along the heads instead of the tokens",
            {.inputs = heads_as_tokens, .outputs = tokens_again}),
      fault("rest_is_zero", "fla-org/flash-linear-attention#1177", "coordinates that do not rotate become 0",
            {.outputs = clear_the_rest}),
      fault("wrong_sign", "karpathy/nanochat#489: the other direction than that of the weights", "rotates by -m theta",
            {.formula = [](auto& scheme) { scheme.turn = rotations::turned_backwards; }, .representative = true}),
      fault("sine_and_cosine_swapped", "GPT-J of huggingface/transformers: sines stand first in its table",
            "cosine and sine change places in the second coordinate",
            {.formula = [](auto& scheme) { scheme.turn = rotations::turned_by_swapped; }}),
      fault("tables_in_bf16", "KellerJordan/modded-nanogpt#39", "cosines and sines are rounded to bf16",
            {.formula = [](auto& scheme) { scheme.rotation_at = rotations::in_bf16; }, .representative = true}),
      fault("tables_of_halves", "Cohere of huggingface/transformers, huggingface/pytorch-image-models#2692: one of two",
            "neighbours are paired, and columns of cosines and sines in the order of halves",
            {.outputs = [](core::tensors& y,
                           const request& call) { take_columns_of_other_layout(y, call, "interleaved"); }}),
      fault("cosine_as_sine", "a unit that has sines alone", "cosines are sines of pi/2 - m theta",
            {.formula = [](auto& scheme) { scheme.rotation_at = rotations::with_cosine_as_sine; }}),
      // The variant declares f32 for f16 and bf16.
      fault("angles_in_storage", "huggingface/transformers#25681", "all is computed in the storage dtype",
            {.arithmetic = in_storage,
             .declared =
                 [](description& about) {
                   for (const core::dtype t : {core::dtype::f16, core::dtype::bf16})
                     about.compute[t] = core::dtype::f32;
                 },
             .shown_in = core::dtype::bf16}),
      // One step of range reduction, as in fast trigonometric functions. In f32 a 2 pi of 24 bits is no worse than the
      // rounding of the angle.
      fault("fast_sine", "kekzl/imp#1317", "angles are reduced by a 2 pi of 24 bits",
            {.formula = [](auto& scheme) { scheme.rotation_at = rotations::reduced_once; },
             .shown_in = core::dtype::f64}),
      // In f32 this reduction is no worse than the rounding of the angle, except for the fastest pair, whose angle is
      // exact.
      fault("reduction_runs_out_of_bits", "tenstorrent/tt-metal#51845",
            "angles beyond 10^5 are reduced by multiples of pi that are not exact",
            {.formula = [](auto& scheme) { scheme.rotation_at = rotations::reduced_by_parts; }}),
      fault("gradient_turned_forwards", "state-spaces/mamba#537: a gradient alone is wrong",
            "the gradient is rotated by R_m instead of R_-m",
            {.gradient = [](auto& scheme) { scheme.turn = rotations::turned_backwards; }}),
      fault("torque_of_input", "pytorch/pytorch#36308: the wrong tensor saved", "the gradients of angles have x for y",
            {.gradient = [](auto& scheme) { scheme.rotation_at = rotations::of_torque; }}),
  };
}

/// Controls: ways in which published code computes.
template <class Encoding>
std::vector<variant> controls_of_rotation(const std::string& name) {
  const auto control = [&](const char* what, const char* as, const char* summary, variation<Encoding> changes) {
    return make_variant<Encoding>("control/" + name + "_" + what, as, summary, std::move(changes));
  };
  return {
      control("angles_in_double", "a wider precision for angles", "angles in double",
              {.arithmetic = angles_in_f64, .declared = usual_arithmetic_declared}),
      control("tables_gathered", "tables of cosines and sines, gathered", "tables are found first",
              {.formula = [](auto& scheme) { scheme.rotation_at = rotations::gathered_from_table; }}),
      control("still_pairs_left_alone", "code that rotates from position 1 on",
              "a pair of angle 0 stays as it is, whatever it holds",
              {.formula = [](auto& scheme) { scheme.turn = rotations::leaving_still_pairs; },
               .gradient = [](auto& scheme) { scheme = {}; }}),
      control("complex_products", "complex multiplication, as meta-llama/llama has it",
              "products in double, the torque from y",
              {.gradient =
                   [](auto& scheme) {
                     scheme.rotation_at = rotations::of_torque;
                     scheme.turn = rotations::turned_with_torque;
                   },
               .arithmetic = products_in_f64,
               .declared = usual_arithmetic_declared}),
      control("usual_stages", "LlamaRotaryEmbedding of huggingface/transformers",
              "f16 and bf16: angles in f32, tables and products in the dtype",
              {.arithmetic = in_usual_stages, .declared = nothing_declared}),
  };
}

}  // namespace assay::properties
