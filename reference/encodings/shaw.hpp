// Relative keys and values (Shaw, Uszkoreit and Vaswani, "Self-Attention with Relative Position Representations", NAACL
// 2018, arXiv 1803.02155): the query is multiplied by a learned vector for each clipped distance, as by the key,
//
//   s_ij = (q_i . k_j + q_i . a[index]) / sqrt(d),   index = clip(rho, -left, right) + left             eqs. (3), (4)
//
// where rho = j - i is the key's position less the query's ("key_minus_query"), or its negative ("query_minus_key", as
// in BERT's relative_key in huggingface/transformers). Shapes: q [B, h, n, d], k [B, h, m, d], the table a [b, d],
// shared by heads; s [B, h, n, m]. Queries are the last of the keys. b = left + 1 + `right`: rows for negative rho, for
// 0, and for positive rho; `right` = -1 means as many as for negative rho (b is odd, 2 k + 1 in the paper).
// wav2vec2-BERT has left = 64 and right = 8. `meets`: the table multiplies "queries", or keys as well: + k_j . a[index]
// (BERT's relative_key_query).
//
// `shaw/attention` uses these scores: o_i = sum_j P_ij (v_j + w[index]), where P is the softmax of s, v is [B, h, m,
// e], and w [b, e] holds the values of the clipped distances, which `where` may leave out             eqs. (1), (2)
//
// Gradients: a row of a table gets the sum of the gradients of its pairs, exactly 0 where there are none. One vector
// added to all rows of a changes no output of attention where only queries use the table. One added to all rows of w is
// added to the output of every query with a key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "reference/kinds/attention.hpp"
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
  struct scheme : score_scheme, attention_scheme, recorded_scheme<scheme> {
    /// The row of a table for a distance; `left` rows are on the left of the row of distance 0, and `right` on the
    /// right.
    std::function<std::int64_t(std::int64_t rho, std::int64_t left, std::int64_t right)> index =
        [](std::int64_t rho, std::int64_t left, std::int64_t right) { return std::clamp(rho, -left, right) + left; };
  };
  static std::vector<recorded_formula<scheme>> formulas() {
    return {{scores_declaration(), scores}, {attention_declaration(), attention}};
  }

 private:
  static core::operation scores_declaration();
  static core::operation attention_declaration();
  static formula::program scores(const scheme& steps, const formula::program_sizes& call);
  static formula::program attention(const scheme& steps, const formula::program_sizes& call);

  /// The rows of a table for n queries and m keys.
  struct rows_of_pairs {
    std::size_t n, m, count;  ///< number of rows of the table
    std::vector<std::int64_t> all{};

    rows_of_pairs(const recorded_call& in, const scheme& steps);
    [[nodiscard]] std::int64_t row(std::size_t i, std::size_t j) const { return all[i * m + j]; }
    [[nodiscard]] formula::traced_integer row_numbers() const { return formula::known_integers({n, m}, all); }
  };
  /// The terms of scores.
  static std::vector<score_term> terms(const recorded_call& in, const rows_of_pairs& rows, const formula::traced& keys);
};

inline core::operation shaw::scores_declaration() {
  core::operation scores = relative_scores("shaw/scores", "m");
  scores.source = "Shaw et al. 2018, arXiv 1803.02155, eqs. (3) and (4)";
  scores.inputs.push_back(core::parameter("table", {"b", "d"}, "keys of the clipped distances"));
  scores.attributes = {
      integer("right", {-1, 0, 2}, {-1, 0x1p31},
              "how many rows of the table are for positive distances; -1: as many as for negative ones"),
      choice("sign", {"key_minus_query", "query_minus_key"},
             "what a distance is: j - i of key j and query i, or i - j"),
      choice("meets", {"queries", "both"}, "what is multiplied with the table: queries, or keys as well")};
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
  attention.attributes.push_back(
      choice("where", {"keys_values", "keys"}, "which tables count: table_k and table_v, or table_k alone"));
  attention.attributes.push_back(flag("causal", false, "whether a query sees no key after its own"));
  attention.conflict = scores.conflict;
  attention.grows_with = core::with_keys;
  attention.independent = {"B", "h"};
  return attention;
}

inline shaw::rows_of_pairs::rows_of_pairs(const recorded_call& in, const scheme& steps)
    : n(in.size("n")), m(in.size("m")), count(in.size("b")) {
  const bool is_negative = in.setting<std::string>("sign") == "query_minus_key";
  const std::int64_t others = static_cast<std::int64_t>(count) - 1, requested = in.setting<std::int64_t>("right"),
                     right = requested < 0 ? others / 2 : requested;
  all.reserve(n * m);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) {
      const auto rho = static_cast<std::int64_t>(j + n) - static_cast<std::int64_t>(i + m);
      all.push_back(steps.index(is_negative ? -rho : rho, others - right, right));
    }
}

inline std::vector<score_term> shaw::terms(const recorded_call& in, const rows_of_pairs& rows,
                                           const formula::traced& table) {
  using formula::traced;
  const traced q = in["q"], k = in["k"];
  const auto rows_of_queries = rows.row_numbers();
  const auto rows_of_keys =
      integers_of_pairs(rows.m, rows.n, [&](std::size_t j, std::size_t i) { return rows.row(i, j); });
  std::vector<score_term> all{{q, k, "bhid,bhjd->bhij"}, {q, table, "bhid,rd->bhir", [=](const traced& s) {
                                                            return products_by_query(s, rows_of_queries);
                                                          }}};
  if (in.setting<std::string>("meets") == "both")
    all.push_back({k, table, "bhjd,rd->bhjr", [=](const traced& s) { return products_by_key(s, rows_of_keys); }});
  return all;
}

inline formula::program shaw::scores(const scheme& steps, const formula::program_sizes& call) {
  using formula::traced;
  recorded_call in(call);
  const traced table = in["table"];
  return in.finish(in_stage<traced>(score_stage::scores, [&] {
    return steps.scaled_scores(steps.factor(in.size("d"), in.size("h"), 1), terms(in, rows_of_pairs(in, steps), table));
  }));
}

inline formula::program shaw::attention(const scheme& steps, const formula::program_sizes& call) {
  using formula::traced;
  recorded_call in(call);
  const traced v = in["v"], keys = in["table_k"], values = in["table_v"];
  const rows_of_pairs rows(in, steps);
  const bool with_values = in.setting<std::string>("where") == "keys_values";
  const std::vector<bool> sees = seen_by_last_queries(rows.n, rows.m, in.setting<bool>("causal"));
  const auto seen = seen_of(in, sees);
  const traced logits = in_stage<traced>(attention_stage::scores, [&] {
    return steps.scaled_scores(factor_of_logits(in.setting<std::string>("scale"), in.size("d")), terms(in, rows, keys));
  });
  // Which rows of values each query reads.
  std::vector<bool> reads(rows.n * rows.count, false);
  for (std::size_t i = 0; i < rows.n; ++i)
    for (std::size_t j = 0; j < rows.m; ++j)
      if (sees[i * rows.m + j]) reads[i * rows.count + static_cast<std::size_t>(rows.row(i, j))] = true;
  const core::shape shape_of_rows{in.size("B"), in.size("h"), rows.n, rows.count};
  const auto is_read = broadcast(formula::known_truths({rows.n, rows.count}, reads), shape_of_rows);
  return in.finish(attended(steps, in, logits, seen, [&](const traced& weights) {
    const traced output_of_values = contracted_where(seen, weights, v, "bhij,bhjc->bhic");
    if (!with_values) return output_of_values;
    const traced by_row = summed_by_place(weights, broadcast(rows.row_numbers(), shape_of(weights)), rows.count, 3);
    return output_of_values + contracted_where(is_read, by_row, values, "bhir,rc->bhic");
  }));
}

}  // namespace assay::reference::encodings
