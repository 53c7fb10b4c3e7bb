// Scores of queries and keys to which relative positions add terms of their own, s_ij = factor (x_1 . y_1 + x_2 . y_2 +
// ...): x and y are vectors of tokens, of positions, or of the head itself.
//
// Shapes: q [B, h, n, d], k [B, h, m, d] -> s [B, h, n, m]. A table has one vector in each row, [h, r, d] or [r, d].
// Queries or keys are multiplied with all rows, and each pair reads its own row. NaN in a vector reaches the scores
// that are computed from it; a row that no pair reads reaches none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reference/kinds/recorded_call.hpp"
#include "reference/kinds/score_declarations.hpp"

namespace assay::reference {

/// The stages in the order of score_stages().
enum class score_stage { scores, accumulation };

/// Products x . y of vectors, by the contraction `letters`, such as "bhnd,bhmd->bhnm".
struct score_term {
  formula::traced x, y;
  std::string letters;
  /// Picks the product of each pair [B, h, n, m] from products with all rows of a table; empty: there is one product
  /// for each pair.
  std::function<formula::traced(const formula::traced& products)> pick_pairs{};
};
/// A product of vectors. Programs may also multiply one of the vectors by the factor of the scores (microsoft/DeBERTa,
/// disentangled_attention.py), which rounds each term once more: an allowance covers both.
formula::traced product_of(const score_term& term);
/// factor times the sum of the products.
formula::traced scaled_sum(const formula::traced& factor, const std::vector<formula::traced>& products);
/// 1, or a power of the width, by a setting such as `scale`; computed in the stage that the caller is in.
formula::traced factor_of_logits(const std::string& setting, std::size_t width);
inline formula::traced inverse_root(std::size_t width) { return factor_of_logits("inverse_sqrt", width); }
/// The factor for this number of terms; the number of heads does not matter.
inline formula::traced factor_of_scores(std::size_t width, std::size_t, std::size_t terms) {
  return inverse_root(width * terms);
}

/// The steps of such scores that variants replace.
struct score_scheme {
  std::function<formula::traced(const score_term&)> product = product_of;
  std::function<formula::traced(const formula::traced& factor, const std::vector<formula::traced>& products)> score =
      scaled_sum;
  std::function<formula::traced(std::size_t width, std::size_t heads, std::size_t terms)> factor = factor_of_scores;

  [[nodiscard]] formula::traced scaled_scores(const formula::traced& scale, const std::vector<score_term>& terms) const;
};

/// The numbers row(i, j) of all pairs of n queries and m keys, [n, m].
formula::traced_integer integers_of_pairs(std::size_t n, std::size_t m,
                                          const std::function<std::int64_t(std::size_t i, std::size_t j)>& row);
/// Products of queries with all rows, [..., n, r], read at the row of each pair, `rows` [n, m].
formula::traced products_by_query(const formula::traced& products, const formula::traced_integer& rows);
/// Products of keys with all rows, [..., m, r], read at the row that each key has with each query, `rows` [m, n].
formula::traced products_by_key(const formula::traced& products, const formula::traced_integer& rows);
/// x [B, h, n, d] plus a vector for each head [h, d].
formula::traced plus_vector_of_head(const formula::traced& x, const formula::traced& vectors);

}  // namespace assay::reference
