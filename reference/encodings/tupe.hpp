// The untied positional bias of TUPE (Ke, He and Liu, "Rethinking Positional Encoding in Language Pre-training", ICLR
// 2021, arXiv 2006.15595): positions are multiplied with positions alone, with their own projections, and [CLS], the
// token 0, is untied from them,
//
//   v_ij = p_q,i . p_k,j / sqrt(2 d) + table[h, bucket(j - i)]
//   B_ij = theta_1 for i = 0;  theta_2 for i > 0 and j = 0;  v_ij otherwise                    section 3.2
//
// p_q and p_k [h, n, d] are the rows of p U^Q and p U^K. theta [h, 2] holds two numbers for each head. table [h, b] is
// the relative bias of T5 in both directions (algorithms/log_buckets.hpp); with `relative` "none" it is left out:
// TUPE-A, else TUPE-R. bias [h, n, n]. The factor 2 is there because B is added to q . k / sqrt(2 d). guolinke/TUPE
// (fairseq/modules/transformer_sentence_encoder.py) computes theta_1 and theta_2 as products of two more rows of p, and
// has two more rows of the table for [CLS]; here theta_1 and theta_2 contain these.
//
// Special values: numbers that a reset replaces reach no output, NaN included. Gradients: theta_1 gets the sum of row
// 0, and theta_2 the sum of column 0 below it; rows 0 of p_q and p_k get exactly 0. After a softmax theta_1 has no
// effect.
#pragma once

#include <cstdint>
#include <string_view>

#include "reference/algorithms/log_buckets.hpp"
#include "reference/kinds/pair_declarations.hpp"
#include "reference/kinds/relative_scores.hpp"

namespace assay::reference::encodings {

struct tupe {
  static constexpr std::string_view name = "tupe";
  static core::encoding_summary summary() {
    return {.what = "a bias by positions alone, [CLS] untied",
            .formula = "B_ij = p_q,i . p_k,j / sqrt(2 d) + table[bucket(j - i)]",
            .sources = {{"Ke, He and Liu 2021", "https://arxiv.org/abs/2006.15595"}},
            .also = {{"TUPE-A, TUPE-R", "`relative` of tupe/bias"}}};
  }

  using traced = formula::traced;
  using truth = formula::traced_truth;
  /// The steps that variants replace.
  struct scheme : recorded_scheme<scheme> {
    std::function<traced(std::size_t width, std::size_t heads, std::size_t terms)> factor = score_scheme{}.factor;
    /// Products of all positions [h, n, n], scaled.
    std::function<traced(const traced& scale, const traced& queries, const traced& keys)> product =
        [](const traced& scale, const traced& queries, const traced& keys) {
          return scale * product_of({queries, keys, "hid,hjd->hij"});
        };
    std::function<std::int64_t(const bucket_map& map, double distance)> bucket = bucket_of;
    /// The bias of all pairs: `terms` are the terms of their positions; `row` and `column` are true in row 0 and column
    /// 0.
    std::function<traced(const truth& row, const truth& column, const std::vector<traced>& terms, const traced& theta_1,
                         const traced& theta_2)>
        reset = [](const truth& row, const truth& column, const std::vector<traced>& terms, const traced& theta_1,
                   const traced& theta_2) { return either(row, theta_1, either(column, theta_2, sum_of(terms))); };
  };
  static traced sum_of(const std::vector<traced>& terms) {
    return terms.size() == 1 ? terms.front() : terms.front() + terms.back();
  }

  static bucket_map map_of(const core::attributes& settings) {
    return {core::setting<std::int64_t>(settings, "buckets"), core::setting<std::int64_t>(settings, "max_distance")};
  }
  static std::vector<recorded_formula<scheme>> formulas() { return {{pair_operation(declaration()), recorded}}; }

 private:
  static core::operation declaration();
  static formula::program recorded(const scheme& steps, const formula::program_sizes& call);
};

inline core::operation tupe::declaration() {
  core::tensor_declaration bias = pair_bias_output(core::error_scale::absolute);
  bias.axes.back() = "n";
  const auto positions = [](const char* called, const char* meaning) {
    return core::tensor_declaration{.name = called, .axes = {"h", "n", "d"}, .meaning = meaning};
  };
  return {.name = "tupe/bias",
          .source = "Ke, He and Liu 2021, arXiv 2006.15595",
          .inputs = {positions("p_q", "positions as queries"), positions("p_k", "positions as keys"),
                     core::parameter("theta", {"h", "2"}, "bias of [CLS] with all, and of the others with [CLS]"),
                     core::parameter("table", {"h", "b"}, "relative bias of each head and bucket")},
          .outputs = {std::move(bias)},
          .attributes = {choice("relative", {"t5", "none"}, "whether the bias of T5 is added"),
                         integer("buckets", {32, 8}, {4, 256},
                                 "how many buckets there are, in both directions together", "b"),
                         integer("max_distance", {128, 16}, {2, 0x1p31},
                                 "from which distance on all share the last bucket")},
          .stages = score_stages(),
          .independent = {"h"},
          .conflict = [](const core::attributes& settings, const core::axis_sizes&) {
            return map_of(settings).conflict();
          }};
}

inline formula::program tupe::recorded(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const bucket_map map = map_of(call.settings);
  const bool is_relative = core::chosen<bool>(call.settings, "relative", {{"t5", true}, {"none", false}});
  const std::size_t heads = in.size("h"), n = in.size("n");
  const traced theta = in["theta"], table = in["table"];
  const auto number_of_head = [&](std::size_t k) { return reshaped(between(theta, 1, k, k + 1), {heads, 1, 1}); };
  const auto is_first = [&](const core::shape& shape) {
    return equal(reshaped(formula::counted(n), shape), formula::traced_integer::constant(0));
  };
  const auto buckets = integers_of_pairs(n, n, [&](std::size_t i, std::size_t j) {
    return steps.bucket(map, static_cast<double>(j) - static_cast<double>(i));
  });
  return in.finish(in_stage<traced>(score_stage::scores, [&] {
    std::vector<traced> terms{steps.product(steps.factor(in.size("d"), heads, 2), in["p_q"], in["p_k"])};
    if (is_relative) terms.push_back(gathered(table, buckets, 1));
    return steps.reset(is_first({n, 1}), is_first({1, n}), terms, number_of_head(0), number_of_head(1));
  }));
}

}  // namespace assay::reference::encodings
