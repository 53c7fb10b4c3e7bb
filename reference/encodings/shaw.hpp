// Relative keys and values (Shaw, Uszkoreit and Vaswani, "Self-Attention with Relative Position Representations",
// NAACL 2018, arXiv 1803.02155): a learned vector for each clipped distance meets the query as the key does,
//
//   s_ij = (q_i . k_j + q_i . a[index]) / sqrt(d),   index = clip(rho, -left, right) + left             eqs. (3), (4)
//
// with rho = j - i, of the key's position less the query's ("key_minus_query"), or its negative ("query_minus_key", as
// BERT's relative_key in huggingface/transformers has it). Shapes: q [B, h, n, d], k [B, h, m, d], the table a [b, d],
// shared by heads; s [B, h, n, m]. Queries are the last of the keys. b = left + 1 + `right`: rows of negative rho, of
// 0, and of positive rho; -1: as many as of negative rho (b is odd, 2 k + 1 in the paper). wav2vec2-BERT has left = 64
// and right = 8. `meets`: "queries", or keys as well: + k_j . a[index] (BERT's relative_key_query).
//
// `shaw/attention` is what they are for, o_i = sum_j P_ij (v_j + w[index]) with P the softmax of s: v [B, h, m, e], and
// w [b, e] the values of the clipped distances, which `where` may leave out                            eqs. (1), (2)
//
// Gradients: that of a row of a table is the sum of those of its pairs, exactly 0 where there are none. One vector
// added to all rows of a changes no output of attention where queries alone meet it, and one added to all rows of w is
// added to what every query with a key reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/kinds/attended_rows.hpp"
#include "reference/kinds/relative_scores.hpp"

namespace assay::reference::encodings {

struct shaw {
  static constexpr std::string_view name = "shaw";
  static core::encoding_summary summary() {
    return {.what = "a learned key and value for each clipped distance",
            .formula = "s_ij = q_i . (k_j + a[clip(j - i)]) / sqrt(d), o_i = softmax_j(s_ij) (v_j + w[clip(j - i)])",
            .sources = {{"Shaw et al. 2018", "https://arxiv.org/abs/1803.02155"}},
            .also = {{"relative_key and relative_key_query of BERT", "`meets` of shaw/scores"},
                     {"the positions of wav2vec2-BERT", "`right` of shaw/scores"},
                     {"Music Transformer", "shaw/scores, whose `right` is 0"}}};
  }

  /// The steps that variants replace.
  template <class R>
  struct recipe : score_steps<R>, attention_steps<R>, differentiable_recipe<recipe, R> {
    /// The row of a table for a distance, of so many rows on the left of that of 0 and on the right.
    recipe_step<R, std::int64_t(std::int64_t rho, std::int64_t left, std::int64_t right)> index =
        [](std::int64_t rho, std::int64_t left, std::int64_t right) { return std::clamp(rho, -left, right) + left; };
  };

  template <class R>
  static std::vector<operation_record<R, recipe<R>>> records() {
    return {query_rows_record<score_rows, R>(scores_declaration()),
            query_rows_record<attention_rows, R>(attention_declaration())};
  }

 private:
  static core::operation scores_declaration();
  static core::operation attention_declaration();
  template <class R>
  struct pairs;
  template <class R>
  struct score_rows;
  template <class R>
  struct attention_rows;
};

inline core::operation shaw::scores_declaration() {
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
inline core::operation shaw::attention_declaration() {
  const core::operation scores = scores_declaration();
  core::operation attention =
      attention_operation("shaw/attention", "m", core::parameter("table_k", {"b", "d"}, scores.inputs.back().meaning));
  attention.source = "Shaw et al. 2018, arXiv 1803.02155, eqs. (1) to (4)";
  attention.inputs.push_back(core::parameter("table_v", {"b", "e"}, "values of the clipped distances"));
  attention.attributes.insert(attention.attributes.end(), scores.attributes.begin(), scores.attributes.end());
  attention.attributes.push_back(choice("where", {"keys_values", "keys"}, "which tables count: both, or table_k"));
  attention.attributes.push_back(flag("causal", false, "a query sees no key behind its own"));
  attention.conflict = scores.conflict;
  attention.grows_with = core::with_keys;
  attention.independent = {"B", "h"};
  return attention;
}

/// Pairs of n queries and m keys: their rows of a table [b, .], and their scores with the keys of a table.
template <class R>
struct shaw::pairs {
  using recipe = shaw::recipe<R>;
  const field<R>&q, &k, &table;
  const recipe& how;
  std::size_t n, m, width;
  std::int64_t left, right;
  bool negative, meets_keys;

  pairs(const arguments<R>& call, const recipe& steps, const char* keys)
      : q(call["q"]),
        k(call["k"]),
        table(call[keys]),
        how(steps),
        n(q.shape(2)),
        m(k.shape(2)),
        width(q.shape(3)),
        left(static_cast<std::int64_t>(table.shape(0)) - 1),
        right(call.template setting<std::int64_t>("right")),
        negative(core::chosen<bool>(call.settings, "sign", {{"key_minus_query", false}, {"query_minus_key", true}})),
        meets_keys(core::chosen<bool>(call.settings, "meets", {{"queries", false}, {"both", true}})) {
    if (right < 0) right = left / 2;
    left -= right;
  }
  [[nodiscard]] std::size_t row(std::size_t i, std::size_t j) const {
    const auto rho = static_cast<std::int64_t>(j + n) - static_cast<std::int64_t>(i + m);
    return static_cast<std::size_t>(how.index(negative ? -rho : rho, left, right));
  }
  /// Of query i of a block and the first keys, in the format of scores.
  [[nodiscard]] std::vector<R> scores(std::size_t block, std::size_t i, std::size_t keys, const R& factor) const {
    const R* query = q.data() + (block * n + i) * width;
    std::vector<R> s;
    for (std::size_t j = 0; j < keys; ++j) {
      const R *key = k.data() + (block * m + j) * width, *of_pair = table.data() + row(i, j) * width;
      std::vector<R> products{how.product(query, key, width), how.product(query, of_pair, width)};
      if (meets_keys) products.push_back(how.product(key, of_pair, width));
      s.push_back(how.score(factor, products));
    }
    return s;
  }
};

template <class R>
struct shaw::score_rows : pairs<R> {
  score_rows(const arguments<R>& call, const recipe<R>& steps) : pairs<R>(call, steps, "table") {}
  std::vector<std::vector<R>> operator()(std::size_t block, std::size_t i) const {
    return scores_of_query<R>(
        [&] { return this->scores(block, i, this->m, this->how.factor(this->width, this->q.shape(1), 1)); });
  }
};

template <class R>
struct shaw::attention_rows : pairs<R> {
  const field<R>&v, &table_v;
  std::string scale;
  bool with_values, causal;

  attention_rows(const arguments<R>& call, const recipe<R>& steps)
      : pairs<R>(call, steps, "table_k"),
        v(call["v"]),
        table_v(call["table_v"]),
        scale(call.template setting<std::string>("scale")),
        with_values(core::chosen<bool>(call.settings, "where", {{"keys_values", true}, {"keys", false}})),
        causal(call.template setting<bool>("causal")) {}
  std::vector<std::vector<R>> operator()(std::size_t block, std::size_t i) const {
    const std::size_t keys = this->m, e = v.shape(3), seen = causal ? keys_seen(i, this->n, keys, true) : keys;
    const std::vector<R> logits = in_stage<R>(
        attention_stage::scores, [&] { return this->scores(block, i, seen, logit_scale<R>(scale, this->width)); });
    // Two products of matrices, as programs have them.
    const R* values = v.data() + block * keys * e;
    std::vector<std::vector<R>> read{{values, values + seen * e}};
    if (with_values) read.emplace_back();
    for (std::size_t j = 0; with_values && j < seen; ++j) {
      const R* row = table_v.data() + this->row(i, j) * e;
      read.back().insert(read.back().end(), row, row + e);
    }
    return {attended(logits, read, e, this->how)};
  }
};

}  // namespace assay::reference::encodings
