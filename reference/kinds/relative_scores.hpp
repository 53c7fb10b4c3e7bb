// Scores of queries and keys to which relative positions add terms of their own, s_ij = factor (x_1 . y_1 + x_2 . y_2 +
// ...), where x and y are vectors of a head: of tokens, of positions, or of the head itself. They are made query by
// query (query_rows.hpp).
//
// Shapes: q [B, h, n, d], k [B, h, m, d] -> s [B, h, n, m]. NaN in a vector reaches the scores that it enters.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reference/kinds/attention_declarations.hpp"
#include "reference/kinds/query_rows.hpp"
#include "reference/kinds/score_declarations.hpp"

namespace assay::reference {

/// The factor of q . k for a setting `scale`: "inverse_sqrt", 1 / sqrt(d) (Vaswani et al. 2017, eq. 1), or "one" (T5;
/// Raffel et al. 2020, section 2.1).
template <class R>
R logit_scale(const std::string& setting, std::size_t width) {
  const rational exponent = factor_exponent(setting, width);
  if (exponent.p == 0) return R(1.0);
  return in_stage<R>(attention_stage::scores, [&] { return power(R(static_cast<double>(width)), exponent); });
}

/// A product of two vectors, a node of a tape: its edges go there without a list of their own. Programs also take the
/// factor of the scores into one of the vectors (microsoft/DeBERTa, disentangled_attention.py), which rounds each term
/// once more: the reading that counts roundings takes what either may be off by.
template <class R>
R product_of(const R* x, const R* y, std::size_t width) {
  if constexpr (is_adjoint<R>) {
    using graph = tape<typename R::underlying>;
    accumulator<typename R::underlying> sum;
    bool constant = true;
    const auto reaches = [&](const R& to, const R& slope) {
      if (to.node == 0) return;
      graph::current().add_edge({to.node, graph::step::product_in_sum, slope.number});
      constant = false;
    };
    for (std::size_t c = 0; c < width; ++c) {
      sum.add_product(x[c].number, y[c].number);
      reaches(x[c], y[c]);
      reaches(y[c], x[c]);
    }
    return constant ? R(sum.total()) : R(sum.total(), graph::current().close());
  } else {
    const auto total = [&](auto operand) {
      accumulator<R> sum;
      for (std::size_t c = 0; c < width; ++c) sum.add_product(operand(x[c]), y[c]);
      return sum.total();
    };
    const R product = total([](const R& a) { return a; });
    if constexpr (computes_in_formats<R>)
      return covering(product, [&] { return total([](const R& a) { return a.rounded_once(); }); });
    else
      return product;
  }
}
/// 1 / sqrt(width), whatever the heads are; of so many terms. Variants replace it.
template <class R>
R factor_of_scores(std::size_t width, std::size_t, std::size_t terms) {
  return logit_scale<R>("inverse_sqrt", width * terms);
}

/// All of a query is made in the format of scores: make() gives them, key by key.
template <class R, class Make>
std::vector<std::vector<R>> scores_of_query(Make make) {
  return {in_stage<R>(attention_stage::scores, make)};
}

}  // namespace assay::reference
