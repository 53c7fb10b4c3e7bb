// The disentangled scores of DeBERTa (He, Liu, Gao and Chen, "DeBERTa: Decoding-enhanced BERT with Disentangled
// Attention", ICLR 2021, arXiv 2006.03654): queries are multiplied by a key of the relative position, and keys by a
// query of it,
//
//   s_ij = (q_i . k_j + q_i . K[delta(i, j)] + k_j . Q[delta(j, i)]) / sqrt(3 d)                        eqs. (3), (4)
//
// with one row of the tables K and Q for each distance r = i - j of the query from the key, of `span` a,
//
//   delta = 0 for r <= -a, 2 a - 1 for r >= a, and r + a otherwise                                             eq. (3)
//
// so that a - 1 shares its row with all larger distances, and 1 - a does not. Shapes: q, k [B, h, n, d], K, Q [h, 2 a,
// d], after projection; s [B, h, n, n]. `terms` leaves one of the last two terms out; the factor is then 1 / sqrt(d
// times the number of remaining terms). `p2c_index`: "paper" as above; "code", the published program, has Q[delta(i,
// j)].
//
// `form` "log" has buckets in place of distances, as the second version of the program (make_log_bucket_position of
// microsoft/DeBERTa). They are the same for r and -r except for the sign: c = a / 2, M = `max_distance`,
//
//   bucket = r for |r| <= c, else +- (c + ceil((c - 1) log(|r| / c) / log((M - 1) / c)))
//
// `deberta/bucket` gives the buckets alone, for `buckets` = a. They are exact: integers decide the ceiling. With
// `clamp_first`, as in the published program, distances are first limited to M - 1. Without it, as in huggingface/
// transformers' modeling_deberta_v2.py, buckets go on beyond a - 1, and delta cuts them: the row of r <= -M is 0, and
// not 1.
//
// Gradients: a row of a table gets the sum of the gradients of its pairs, exactly 0 where there are none.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "reference/algorithms/log_buckets.hpp"
#include "reference/kinds/relative_scores.hpp"

namespace assay::reference::encodings {

/// The settings by which a distance chooses a row of the tables K and Q.
struct deberta_rows {
  std::int64_t span = 256, max_distance = 512;
  bool logarithmic = true, clamp_first = true;

  [[nodiscard]] std::string conflict(const char* span_setting) const {
    const std::string span_name = "attribute '" + std::string(span_setting) + "'";
    if (logarithmic && (span < 4 || span % 2 != 0)) return span_name + " must be even, and at least 4";
    if (logarithmic && max_distance <= span) return "attribute 'max_distance' must be larger than " + span_name;
    return "";
  }
  /// The bucket of a distance, which is the position of the query less that of the key.
  [[nodiscard]] std::int64_t bucket(std::int64_t distance) const {
    const std::int64_t middle = span / 2, last = max_distance - 1;
    const std::int64_t n = clamp_first ? std::min(std::abs(distance), last) : std::abs(distance);
    if (!logarithmic || n <= middle) return distance;
    const std::int64_t beyond = middle + log_bucket_ceiling(middle, last, n);
    return distance < 0 ? -beyond : beyond;
  }
  [[nodiscard]] std::int64_t row(std::int64_t distance) const {
    return std::clamp<std::int64_t>(bucket(distance) + span, 0, 2 * span - 1);
  }
};

struct deberta {
  static constexpr std::string_view name = "deberta";
  static core::encoding_summary summary() {
    return {.what = "disentangled scores, with logarithmic buckets",
            .formula = "s_ij = (q_i . k_j + q_i . K[delta(i,j)] + k_j . Q[delta(j,i)]) / sqrt(3 d)",
            .sources = {{"He et al. 2021", "https://arxiv.org/abs/2006.03654"}}};
  }
  static constexpr double furthest = 0x1p31;

  /// The steps that variants replace.
  struct scheme : score_scheme, recorded_scheme<scheme> {
    std::function<std::int64_t(const deberta_rows& rows, std::int64_t distance)> bucket =
        [](const deberta_rows& rows, std::int64_t distance) { return rows.bucket(distance); };
    std::function<std::int64_t(const deberta_rows& rows, std::int64_t distance)> row =
        [](const deberta_rows& rows, std::int64_t distance) { return rows.row(distance); };
  };
  static std::vector<recorded_formula<scheme>> formulas() {
    return {{bucket_declaration(), buckets}, {scores_declaration(), scores}};
  }

  static deberta_rows rows_of(const core::attributes& settings, const char* span) {
    deberta_rows rows{core::setting<std::int64_t>(settings, span),
                      core::setting<std::int64_t>(settings, "max_distance")};
    if (settings.contains("form"))
      rows.logarithmic = core::chosen<bool>(settings, "form", {{"log", true}, {"linear", false}});
    if (settings.contains("clamp_first")) rows.clamp_first = core::setting<bool>(settings, "clamp_first");
    return rows;
  }

 private:
  static constexpr const char* source = "He et al. 2021, arXiv 2006.03654, eqs. (3) and (4)";
  static constexpr const char* clamping = "whether distances are cut to max_distance - 1 first; else buckets go on";
  static core::operation bucket_declaration();
  static core::operation scores_declaration();
  static formula::program buckets(const scheme& steps, const formula::program_sizes& call);
  static formula::program scores(const scheme& steps, const formula::program_sizes& call);
};

inline core::operation deberta::bucket_declaration() {
  core::operation bucket{
      .name = "deberta/bucket",
      .source = "microsoft/DeBERTa, make_log_bucket_position",
      .inputs = {core::integers("distance", {"n"}, "position of the query less that of the key", {-furthest, furthest},
                                core::input_role::distance)},
      .outputs = {core::integers("bucket", {"n"}, "bucket of the distance, with its sign", {-furthest, furthest},
                                 core::input_role::value)},
      .attributes = {integer("buckets", {256, 4, 8, 32, 320}, {4, 1024},
                             "a: how many buckets a direction has, the distance 0 among them"),
                     integer("max_distance", {512, 800, 2048}, {5, furthest},
                             "M: the distance M - 1 has the bucket a - 1, and with clamp_first all beyond, too"),
                     flag("clamp_first", true, clamping)},
      .conflict = [](const core::attributes& settings, const core::axis_sizes&) {
        return rows_of(settings, "buckets").conflict("buckets");
      }};
  bucket.grows_with = core::with_distance;
  bucket.independent = {"n"};
  bucket.named_only = true;
  return bucket;
}
inline core::operation deberta::scores_declaration() {
  core::operation scores = relative_scores("deberta/scores", "n");
  scores.source = source;
  for (const auto& [called, meaning] : {std::pair{"position_keys", "keys of relative positions"},
                                        {"position_queries", "queries of relative positions"}})
    scores.inputs.push_back(core::parameter(called, {"h", "2b", "d"}, meaning));
  scores.attributes = {
      integer("span", {4, 8, 16}, {1, 1024}, "how many rows each direction has", "b"),
      choice("form", {"log", "linear"}, "what picks a row: the bucket of the distance, or the distance"),
      integer("max_distance", {24, 40, 128}, {2, furthest},
              "M of the form log: with clamp_first distances from M - 1 on share the last row of their direction"),
      choice("terms", {"both", "c2p", "p2c"},
             "which terms count: queries with position_keys (c2p), keys with position_queries (p2c), or both"),
      choice("p2c_index", {"code", "paper"},
             "which row of position_queries key j has with query i: that of i - j, or of j - i"),
      since({0, 2}, flag("clamp_first", true, clamping))};
  scores.axis_roles = {{"b", core::axis_role::parameter}};
  scores.conflict = [](const core::attributes& settings, const core::axis_sizes&) {
    return rows_of(settings, "span").conflict("span");
  };
  return scores;
}

inline formula::program deberta::buckets(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const deberta_rows rows = rows_of(call.settings, "buckets");
  const auto most = static_cast<std::int64_t>(furthest);
  return in.finish(formula::stepwise(clamp(in.integers("distance"), -most, most), -most, most,
                                     [&](std::int64_t distance) { return steps.bucket(rows, distance); }));
}

inline formula::program deberta::scores(const scheme& steps, const formula::program_sizes& call) {
  using formula::traced;
  recorded_call in(call);
  const deberta_rows rows = rows_of(call.settings, "span");
  const bool c2p = core::chosen<bool>(call.settings, "terms", {{"both", true}, {"c2p", true}, {"p2c", false}}),
             p2c = core::chosen<bool>(call.settings, "terms", {{"both", true}, {"c2p", false}, {"p2c", true}}),
             as_in_paper = core::chosen<bool>(call.settings, "p2c_index", {{"code", false}, {"paper", true}});
  const std::size_t n = in.size("n");
  const auto row = [&](std::size_t from, std::size_t to) {
    return steps.row(rows, static_cast<std::int64_t>(from) - static_cast<std::int64_t>(to));
  };
  const auto rows_of_queries = integers_of_pairs(n, n, row),
             rows_of_keys = integers_of_pairs(
                 n, n, [&](std::size_t j, std::size_t i) { return as_in_paper ? row(j, i) : row(i, j); });
  const traced q = in["q"], k = in["k"], keys = in["position_keys"], queries = in["position_queries"];
  return in.finish(in_stage<traced>(score_stage::scores, [&] {
    std::vector<score_term> terms{{q, k, "bhid,bhjd->bhij"}};
    if (c2p)
      terms.push_back(
          {q, keys, "bhid,hrd->bhir", [&](const traced& s) { return products_by_query(s, rows_of_queries); }});
    if (p2c)
      terms.push_back(
          {k, queries, "bhjd,hrd->bhjr", [&](const traced& s) { return products_by_key(s, rows_of_keys); }});
    return steps.scaled_scores(steps.factor(in.size("d"), in.size("h"), terms.size()), terms);
  }));
}

}  // namespace assay::reference::encodings
