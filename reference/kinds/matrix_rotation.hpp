// The kind of encodings that turn blocks of b coordinates of queries and keys by the exponential of a skew-symmetric
// matrix which is linear in the position: y = exp(X(p)) x, block by block.
//
// Shapes: x [B, n, h, d] -> y [B, n, h, d]; position [n, a], real; c blocks of b coordinates each stand side by side,
// c b <= d, and the coordinates behind them stay as they are.
//
// Special values: position 0 is the identity of finite x. A NaN reaches all coordinates of its block, as products with
// 0 are NaN too; one in a position or in a generator all of the blocks that it enters. Infinities are none of the
// domain.
//
// Gradients: x-bar = exp(-X) y-bar; X-bar = L(-X, y-bar x^T), the derivative of the exponential (skew_exponential.hpp),
// of which the antisymmetric part alone counts.
//
// An operation of this kind is a class template over the reading R,
//   struct turns { using recipe = ...;                      made of matrix_recipe
//     turns(const arguments<R>&, const recipe&);
//     std::size_t blocks, width;                            c and b
//     R exponent(std::size_t token, std::size_t head, std::size_t block, std::size_t i, std::size_t j) const; }
// the entry of X in row i and column j > i.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "reference/algorithms/skew_exponential.hpp"
#include "reference/derived_vjp.hpp"
#include "reference/kinds/declarations.hpp"

namespace assay::reference {

/// What of such a rotation has a format of its own, in the order of matrix_rotation_stages().
enum class matrix_stage { exponent, exponential, product };

/// f16 and bf16: the exponential in f32, cast to the dtype of the tensors that it multiplies
/// (EXPONENTIATE_ONE_SHOT of StanfordMIMI/LieRE, models/rope_vit.py; its loop casts before it exponentiates).
inline std::vector<core::stage_declaration> matrix_rotation_stages() {
  return {{.name = "exponent", .meaning = "sums of positions times generators"},
          {.name = "exponential", .meaning = "the exponential of the matrix"},
          {.name = "product", .meaning = "its product with the coordinates", .narrow = true},
          {.name = std::string(core::accumulation), .meaning = "sums of products, in gradients too"}};
}

/// The steps that all encodings of this kind have.
template <template <class> class Recipe, class R>
struct matrix_recipe : differentiable_recipe<Recipe, R> {
  /// exp(X) of X [b, b].
  recipe_step<R, square_matrix<R>(const square_matrix<R>& x, std::size_t b)> exponential = skew_exponential<R>;
};

/// The rotation of one block.
template <class R, class Turns>
square_matrix<R> rotation_of_block(const Turns& formula, const typename Turns::recipe& how, std::size_t token,
                                   std::size_t head, std::size_t block) {
  const std::size_t b = formula.width;
  square_matrix<R> x(b * b, R(0.0));
  for (std::size_t i = 0; i < b; ++i)
    for (std::size_t j = i + 1; j < b; ++j) {
      x[i * b + j] = in_stage<R>(matrix_stage::exponent, [&] { return formula.exponent(token, head, block, i, j); });
      x[j * b + i] = -x[i * b + j];
    }
  return in_stage<R>(
      matrix_stage::exponential, [&](const square_matrix<R>& m) { return how.exponential(m, b); }, x);
}

template <template <class> class Turns, class R>
fields<R> rotate_blocks(const arguments<R>& call, const typename Turns<R>::recipe& how) {
  const Turns<R> formula(call, how);
  const field<R>& x = call["x"];
  field<R> y = x;
  const std::size_t rows = x.shape(0), tokens = x.shape(1), heads = x.shape(2), d = x.shape(3), b = formula.width;
  const std::size_t blocks = b == 0 ? 0 : std::min(formula.blocks, d / b);
  for (std::size_t k = 0; y.size() > 0 && k < tokens * heads * blocks; ++k) {
    const std::size_t block = k % blocks, head = k / blocks % heads, token = k / blocks / heads;
    const square_matrix<R> r = taken_by(matrix_stage::product, matrix_stage::exponential,
                                        rotation_of_block<R>(formula, how, token, head, block));
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t first = ((row * tokens + token) * heads + head) * d + block * b;
      for (std::size_t i = 0; i < b; ++i) {
        accumulator<R> sum;
        for (std::size_t j = 0; j < b; ++j) sum.add_product(r[i * b + j], x.data()[first + j]);
        y.data()[first + i] = total_in(matrix_stage::product, sum);
      }
    }
  }
  return {{"y", std::move(y)}};
}

/// Why blocks do not fit into d coordinates; empty where they do.
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

/// What declarations of this kind share: of vectors where `inputs` are what is between x and position.
inline core::operation matrix_rotation_declaration(core::operation declaration) {
  const core::tensor_declaration x{.name = "x", .axes = {"B", "n", "h", "d"}, .meaning = "queries or keys"};
  declaration.inputs.insert(declaration.inputs.begin(), x);
  declaration.inputs.push_back(positions_on_axes());
  declaration.outputs = {x};
  declaration.outputs.front().name = "y", declaration.outputs.front().meaning = "the same, rotated";
  // A coordinate may cancel, but the length of its block, and with it the error, is that of the row x.
  declaration.outputs.front().scale = core::error_scale::by_row;
  declaration.stages = matrix_rotation_stages();
  declaration.grows_with = core::with_position;
  declaration.independent = {"B", "n", "h"};
  declaration.axis_roles = {{"a", core::axis_role::parameter}, {"c", core::axis_role::parameter}};
  return declaration;
}

}  // namespace assay::reference
