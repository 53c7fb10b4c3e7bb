// Scores of queries and keys to which relative positions add terms of their own, s_ij = factor (x_1 . y_1 + x_2 . y_2 +
// ...), where x and y are vectors of a head: of tokens, of positions, or of the head itself. They are made query by
// query (query_rows.hpp).
//
// Shapes: q [B, h, n, d], k [B, h, m, d] -> s [B, h, n, m]. NaN in a vector reaches the scores that it enters.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reference/kinds/attention.hpp"
#include "reference/kinds/declarations.hpp"
#include "reference/kinds/query_rows.hpp"

namespace assay::reference {

/// f16 and bf16: products of matrices of the dtype of the tensors, added up in f32 and cast, as eager attention has
/// them (DisentangledSelfAttention of microsoft/DeBERTa, RelPartialLearnableMultiHeadAttn of kimiyoung/transformer-xl).
inline std::vector<core::stage_declaration> score_stages() {
  std::vector<core::stage_declaration> all{attention_stages().front(), attention_stages().back()};
  all.front().meaning = "sums of vectors, their products, and the sum and scale of those";
  all.back().meaning = "the sums of those products";
  return all;
}

/// An operation of this sort; `keys`: the axis along which they lie.
inline core::operation relative_scores(const char* called, const char* keys) {
  core::operation scores = attention_operation(called, keys, {});
  scores.inputs.resize(2);    // q and k
  scores.attributes.clear();  // each has the factor of its definition
  scores.outputs = {{.name = "s",
                     .axes = {"B", "h", "n", keys},
                     .meaning = "scores, queries by keys",
                     .scale = core::error_scale::by_row}};
  scores.stages = score_stages();
  scores.independent = {"B", "h"};
  return scores;
}

/// A product of two vectors.
template <class R>
accumulator<R> product_of(const R* x, const R* y, std::size_t width) {
  accumulator<R> sum;
  for (std::size_t c = 0; c < width; ++c) sum.add_product(x[c], y[c]);
  return sum;
}
/// The sum of two vectors, as products take it in.
template <class R>
std::vector<R> sum_of_vectors(const R* x, const R* y, std::size_t width) {
  std::vector<R> sum;
  for (std::size_t c = 0; c < width; ++c)
    sum.push_back(in_stage<R>(
        attention_stage::scores, [](const R& a, const R& b) { return a + b; }, x[c], y[c]));
  return sum;
}

/// factor times the sum of products, each of which is rounded.
template <class R>
R scaled_sum(const R& factor, const std::vector<accumulator<R>>& products) {
  R sum = products.front().total();
  for (std::size_t k = 1; k < products.size(); ++k) sum = sum + products[k].total();
  return factor * sum;
}

/// The steps of such scores that variants replace.
template <class R>
struct score_steps {
  recipe_step<R, R(const R& factor, const std::vector<accumulator<R>>& products)> score = scaled_sum<R>;
  /// Of heads so wide, and of so many terms.
  recipe_step<R, R(std::size_t width, std::size_t heads, std::size_t terms)> factor =
      [](std::size_t width, std::size_t, std::size_t terms) { return logit_scale<R>("inverse_sqrt", width * terms); };

  [[nodiscard]] R score_of(const R& by, const std::vector<accumulator<R>>& products) const {
    return in_stage<R>(attention_stage::scores, score, by, products);
  }
};

}  // namespace assay::reference
