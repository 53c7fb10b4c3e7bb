// The relative scores of TENER (Yan, Deng, Li and Qiu, "TENER: Adapting Transformer Encoder for Named Entity
// Recognition", 2019, arXiv 1911.04474): those of Transformer-XL (transformer_xl.hpp) in both directions. The keys of
// distances are sinusoids without a projection, and there is no factor,
//
//   s_ij = (q_i + u) . k_j + (q_i + v) . R_{i - j}
//   R_t = [sin(t theta_0), ..., sin(t theta_{r-1}), cos(t theta_0), ..., cos(t theta_{r-1})]
//
// in the order of the program; in eq. (11) sines and cosines alternate. `terms`: "paper" as above; "code",
// RelativeMultiHeadAttn of fastnlp/TENER (modules/relative_transformer.py), has R_{j - i} for queries, and also k_j .
// R_{i - j}. Shapes: q, k [B, h, n, d]; u, v [h, d] (r_r_bias and r_w_bias there); s [B, h, n, n]; r = floor(d / 2);
// where d is odd, the last column is 0. `rule` of the frequencies: 10000^(-t / (r - 1)) as in the program, or 10000^(-t
// / r) as in the paper. `scale`: 1, or 1 / sqrt(d), which is an option of the program.
#pragma once

#include <cstdint>
#include <string_view>

#include "reference/algorithms/sinusoidal_columns.hpp"
#include "reference/kinds/relative_scores.hpp"

namespace assay::reference::encodings {

struct tener {
  static constexpr std::string_view name = "tener";
  static core::encoding_summary summary() {
    return {.what = "scores with sinusoids for keys of distances",
            .formula = "s_ij = (q_i + u) . k_j + (q_i + v) . R_{i-j}",
            .sources = {{"Yan et al. 2019", "https://arxiv.org/abs/1911.04474"}}};
  }

  /// The stages: those of scores, and the table.
  enum class stage { scores, accumulation, table };

  /// The steps that variants replace.
  struct scheme : score_scheme, recorded_scheme<scheme> {
    /// The distance of the row of R that query i has with key j.
    std::function<std::int64_t(std::int64_t i, std::int64_t j)> distance = [](std::int64_t i, std::int64_t j) {
      return i - j;
    };
  };
  static std::vector<recorded_formula<scheme>> formulas() { return {{declaration(), recorded}}; }

 private:
  static core::operation declaration();
  static formula::program recorded(const scheme& steps, const formula::program_sizes& call);
  static formula::traced table(const recorded_call& in);
};

inline core::operation tener::declaration() {
  core::operation scores = relative_scores("tener/scores", "n");
  scores.source = "Yan et al. 2019, arXiv 1911.04474";
  add_vectors_of_heads(scores,
                       {{"u", "added to queries that meet keys"}, {"v", "added to queries that meet distances"}});
  scores.attributes = {
      choice("terms", {"code", "paper"},
             "which rows of R count: R_{j - i} for queries and R_{i - j} for keys, or R_{i - j} for queries"),
      choice("rule", {"tensor2tensor", "paper"}, "what exponents of frequencies are: -t / (r - 1), or -t / r"),
      choice("scale", {"one", "inverse_sqrt"}, "what all scores are multiplied by: 1, or 1 / sqrt(d)")};
  scores.stages.push_back({.name = "table", .meaning = "frequencies, angles, sines and cosines"});
  return scores;
}

/// The rows of the distances 1 - n to n - 1.
inline formula::traced tener::table(const recorded_call& in) {
  using formula::traced;
  const std::size_t n = in.size("n"), width = in.size("d"), pairs = width / 2, rows = n == 0 ? 0 : 2 * n - 1;
  if (pairs == 0) return broadcast(traced(0.0), {rows, width});
  const frequency_scale by = scale_of(in.setting<std::string>("rule"), 2 * pairs, pairs);
  const auto theta = frequencies_of_scale(traced(10000.0), pairs, by);
  const auto distance =
      to_real(formula::counted(rows) - formula::traced_integer::constant(static_cast<std::int64_t>(n) - 1));
  const traced angles = reshaped(distance, {rows, 1}) * theta;
  return formula::joined({sine_of(angles), cosine_of(angles), broadcast(traced(0.0), {rows, width % 2})}, 1);
}

inline formula::program tener::recorded(const scheme& steps, const formula::program_sizes& call) {
  using formula::traced;
  recorded_call in(call);
  const bool is_scaled = core::chosen<bool>(call.settings, "scale", {{"one", false}, {"inverse_sqrt", true}}),
             as_in_code = core::chosen<bool>(call.settings, "terms", {{"code", true}, {"paper", false}});
  const std::size_t n = in.size("n"), heads = in.size("h"), width = in.size("d");
  const traced q = in["q"], k = in["k"], u = in["u"], v = in["v"];
  const traced table_of_distances = in_stage<traced>(stage::table, [&] { return table(in); });
  const auto row_of = [&](std::int64_t distance) { return distance + static_cast<std::int64_t>(n) - 1; };
  const auto rows_of_queries = integers_of_pairs(n, n, [&](std::size_t i, std::size_t j) {
    const std::int64_t t = steps.distance(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
    return row_of(as_in_code ? -t : t);
  });
  const auto rows_of_keys = integers_of_pairs(n, n, [&](std::size_t j, std::size_t i) {
    return row_of(steps.distance(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)));
  });
  return in.finish(in_stage<traced>(stage::scores, [&] {
    const traced r = taken_from(static_cast<std::size_t>(stage::table), table_of_distances);
    const auto read_by_queries = [&](const traced& s) { return products_by_query(s, rows_of_queries); };
    // q . R and v . R are separate terms, as in the program.
    std::vector<score_term> terms{
        {plus_vector_of_head(q, u), k, "bhid,bhjd->bhij"},
        {q, r, "bhid,rd->bhir", read_by_queries},
        {broadcast(reshaped(v, {heads, 1, width}), {heads, n, width}), r, "hid,rd->hir", read_by_queries}};
    if (as_in_code)
      terms.push_back({k, r, "bhjd,rd->bhjr", [&](const traced& s) { return products_by_key(s, rows_of_keys); }});
    return steps.scaled_scores(is_scaled ? steps.factor(width, heads, 1) : traced(1.0), terms);
  }));
}

}  // namespace assay::reference::encodings
