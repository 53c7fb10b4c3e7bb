// The kind of encodings that rotate blocks of b coordinates of queries and keys by the exponential of a skew-symmetric
// matrix that is linear in the position: y = exp(X(p)) x, block by block.
//
// Shapes: x [B, n, h, d] -> y [B, n, h, d]; position [n, a], real. There are c blocks of b coordinates, side by side,
// with c b <= d; the coordinates after them stay as they are.
//
// Special values: position 0 is the identity of finite x. A NaN reaches all coordinates of its block, since products
// with 0 are NaN too. A NaN in a position or in a generator reaches all blocks that use it. Infinities are outside the
// domain.
//
// Gradients: x-bar = exp(-X) y-bar; X-bar = L(-X, y-bar x^T), the derivative of the exponential (skew_exponential.hpp).
// Only its antisymmetric part counts.
#pragma once

#include <functional>
#include <string>

#include "reference/kinds/recorded_call.hpp"

namespace assay::reference {

/// The parts of such a rotation that have a format of their own, in the order of matrix_rotation_stages().
enum class matrix_stage { exponent, exponential, product };

/// For f16 and bf16: the exponential in f32, cast to the dtype of the tensors that it multiplies (EXPONENTIATE_ONE_SHOT
/// of StanfordMIMI/LieRE, models/rope_vit.py; its loop casts before it exponentiates).
inline std::vector<core::stage_declaration> matrix_rotation_stages() {
  return {{.name = "exponent", .meaning = "sums of positions times generators"},
          {.name = "exponential", .meaning = "the exponential of the matrix"},
          {.name = "product", .meaning = "its product with the coordinates", .narrow = true},
          {.name = std::string(core::accumulation), .meaning = "sums of products, in gradients too"}};
}

/// The steps that all encodings of this kind have.
struct matrix_scheme {
  /// exp(X) for X [..., b, b].
  std::function<formula::traced(const formula::traced& x)> exponential = formula::skew_exponential;
};

/// The entries above the diagonal of matrices [..., b, b], row by row: [..., b (b - 1) / 2]. entries_below() gives the
/// entries at the transposed places, in the same order.
formula::traced entries_above(const formula::traced& matrices);
formula::traced entries_below(const formula::traced& matrices);
/// exp(X) [..., b, b], given the entries of X above the diagonal.
formula::traced rotations_by(const matrix_scheme& steps, const formula::traced& entries, std::size_t b);
/// x [B, n, h, d] with its blocks of b coordinates rotated; `entries` [n, h, c, b (b - 1) / 2] are the entries above
/// the diagonal of the X of each block.
formula::traced rotated_blocks(const matrix_scheme& steps, const formula::traced& x, const formula::traced& entries,
                               std::size_t b);

/// The reason why blocks do not fit into d coordinates; empty where they fit.
inline std::string conflict_of_blocks(const core::axis_sizes& sizes) {
  const std::size_t c = sizes.at("c"), b = sizes.at("b"), d = sizes.at("d");
  if (c * b <= d) return {};
  return "c = " + std::to_string(c) + " blocks of b = " + std::to_string(b) +
         " are more than d = " + std::to_string(d) + " holds";
}

inline core::tensor_declaration positions_on_axes() {
  return {.name = "position",
          .axes = {"n", "a"},
          .meaning = "positions on each axis, real numbers",
          .role = core::input_role::position};
}

/// The declaration of an operation of this kind: puts x before the given inputs and the positions after them, and adds
/// the output, the stages and the roles of axes.
inline core::operation matrix_rotation_declaration(core::operation declaration) {
  const core::tensor_declaration x{.name = "x", .axes = {"B", "n", "h", "d"}, .meaning = "queries or keys"};
  declaration.inputs.insert(declaration.inputs.begin(), x);
  declaration.inputs.push_back(positions_on_axes());
  declaration.outputs = {x};
  declaration.outputs.front().name = "y", declaration.outputs.front().meaning = "the same, rotated";
  // A coordinate may cancel, but its block keeps its length, and so the error is compared with the row x.
  declaration.outputs.front().scale = core::error_scale::by_row;
  declaration.stages = matrix_rotation_stages();
  declaration.grows_with = core::with_position;
  declaration.independent = {"B", "n", "h"};
  declaration.axis_roles = {{"a", core::axis_role::parameter}, {"c", core::axis_role::parameter}};
  return declaration;
}

}  // namespace assay::reference
