// Scores with relative keys (Shaw, Uszkoreit and Vaswani, "Self-Attention with Relative Position Representations",
// NAACL 2018, arXiv 1803.02155): a learned vector for each clipped distance meets the query as the key does,
//
//   s_ij = (q_i . k_j + q_i . a[index]) / sqrt(d),   index = clip(rho, -left, right) + left                eqs. (3),
//   (4)
//
// with rho = j - i, of the key's position less the query's ("key_minus_query"), or its negative ("query_minus_key", as
// BERT's relative_key in huggingface/transformers has it). Shapes: q [B, h, n, d], k [B, h, m, d], the table a [b, d],
// shared by heads; s [B, h, n, m]. Queries are the last of the keys. b = left + 1 + `right`: rows of negative rho, of
// 0, and of positive rho; -1: as many as of negative rho (b is odd, 2 k + 1 in the paper). wav2vec2-BERT has left = 64
// and right = 8. `meets`: "queries", or keys as well: + k_j . a[index] (BERT's relative_key_query).
//
// Gradients: that of a row of the table is the sum of those of its pairs, exactly 0 where there are none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/kinds/relative_scores.hpp"

namespace assay::reference::encodings {

struct shaw {
  static constexpr std::string_view name = "shaw";

  /// The steps that variants replace.
  template <class R>
  struct recipe : score_steps<R>, differentiable_recipe<recipe, R> {
    /// The row of a table for a distance, of so many rows on the left of that of 0 and on the right.
    recipe_step<R, std::int64_t(std::int64_t rho, std::int64_t left, std::int64_t right)> index =
        [](std::int64_t rho, std::int64_t left, std::int64_t right) { return std::clamp(rho, -left, right) + left; };
  };

  template <class R>
  static std::vector<operation_record<R, recipe<R>>> records() {
    return {query_rows_record<score_rows, R>(declaration())};
  }

 private:
  static core::operation declaration();
  static bool with_keys(const core::attributes& settings) {
    return core::chosen<bool>(settings, "meets", {{"queries", false}, {"both", true}});
  }
  template <class R>
  struct distances;
  template <class R>
  struct score_rows;
};

inline core::operation shaw::declaration() {
  core::operation scores = relative_scores("shaw/scores", "m");
  scores.source = "Shaw et al. 2018, arXiv 1803.02155, eqs. (3) and (4)";
  scores.inputs.push_back(core::parameter("table", {"b", "d"}, "keys of the clipped distances"));
  scores.attributes = {
      integer("right", {-1, 0, 2}, {-1, 0x1p31}, "rows of positive distances; -1: as many as of negative"),
      choice("sign", {"key_minus_query", "query_minus_key"}, "of a distance"),
      choice("meets", {"queries", "both"}, "what meets the table: queries, or keys as well")};
  scores.conflict = [](const core::attributes& settings, const core::axis_sizes& sizes) -> std::string {
    const auto rows = static_cast<std::int64_t>(sizes.at("b")), right = core::setting<std::int64_t>(settings, "right");
    if (right < 0) return rows % 2 == 1 ? "" : "attribute 'right' is -1: the table must have an odd number of rows";
    return rows > right ? "" : "the table must have more rows than attribute 'right' says";
  };
  return scores;
}

/// The rows of a table [b, .] that pairs of n queries and m keys have.
template <class R>
struct shaw::distances {
  const shaw::recipe<R>& how;
  std::int64_t n, m, left, right;
  bool negative;

  distances(const arguments<R>& call, const shaw::recipe<R>& steps, std::size_t rows)
      : how(steps),
        n(static_cast<std::int64_t>(call["q"].shape(2))),
        m(static_cast<std::int64_t>(call["k"].shape(2))),
        left(static_cast<std::int64_t>(rows) - 1),
        right(call.template setting<std::int64_t>("right")),
        negative(core::chosen<bool>(call.settings, "sign", {{"key_minus_query", false}, {"query_minus_key", true}})) {
    if (right < 0) right = left / 2;
    left -= right;
  }
  [[nodiscard]] std::size_t row(std::size_t i, std::size_t j) const {
    const std::int64_t rho = static_cast<std::int64_t>(j) + n - static_cast<std::int64_t>(i) - m;
    return static_cast<std::size_t>(how.index(negative ? -rho : rho, left, right));
  }
};

template <class R>
struct shaw::score_rows {
  using recipe = shaw::recipe<R>;
  const field<R>&q, &k, &table;
  const recipe& how;
  distances<R> at;
  bool meets_keys;

  score_rows(const arguments<R>& call, const recipe& steps)
      : q(call["q"]),
        k(call["k"]),
        table(call["table"]),
        how(steps),
        at(call, steps, table.shape(0)),
        meets_keys(with_keys(call.settings)) {}
  std::vector<std::vector<R>> operator()(std::size_t block, std::size_t i) const {
    const std::size_t n = q.shape(2), m = k.shape(2), heads = q.shape(1), width = q.shape(3);
    const R* query = q.data() + (block * n + i) * width;
    return scores_of_query<R>([&] {
      const R factor = how.factor(width, heads, 1);
      std::vector<R> s;
      for (std::size_t j = 0; j < m; ++j) {
        const R *key = k.data() + (block * m + j) * width, *row = table.data() + at.row(i, j) * width;
        std::vector<R> products{product_of(query, key, width), product_of(query, row, width)};
        if (meets_keys) products.push_back(product_of(key, row, width));
        s.push_back(how.score(factor, products));
      }
      return s;
    });
  }
};

}  // namespace assay::reference::encodings
