// The untied positional bias of TUPE (Ke, He and Liu, "Rethinking Positional Encoding in Language Pre-training", ICLR
// 2021, arXiv 2006.15595): positions meet positions alone, by projections of their own, and [CLS], the token 0, is
// untied from them,
//
//   v_ij = p_q,i . p_k,j / sqrt(2 d) + table[h, bucket(j - i)]
//   B_ij = theta_1 for i = 0;  theta_2 for i > 0 and j = 0;  v_ij otherwise                    section 3.2
//
// p_q and p_k [h, n, d] are the rows of p U^Q and p U^K, theta [h, 2] two numbers of a head, table [h, b] the
// relative bias of T5 in both directions (algorithms/log_buckets.hpp), which `relative` "none" leaves out: TUPE-A, else
// TUPE-R. bias [h, n, n]. The 2 is there because B is added to q . k / sqrt(2 d). guolinke/TUPE
// (fairseq/modules/transformer_sentence_encoder.py) makes theta_1 and theta_2 by products of two more rows of p, and
// has two more rows of the table for [CLS], which theta_1 and theta_2 have in them here.
//
// Special values: what a reset replaces reaches no output, NaN included. Gradients: that of theta_1 is the sum of row 0
// and that of theta_2 of column 0 below; rows 0 of p_q and p_k have exactly 0. Behind a softmax theta_1 has no effect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/algorithms/log_buckets.hpp"
#include "reference/kinds/pair_bias.hpp"
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

  /// The steps that variants replace.
  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    recipe_step<R, R(std::size_t width, std::size_t heads, std::size_t terms)> factor = score_steps<R>{}.factor;
    recipe_step<R, R(const R& scale, const R* query, const R* key, std::size_t width)> product =
        [](const R& scale, const R* query, const R* key, std::size_t width) {
          return scale * product_of(query, key, width);
        };
    recipe_step<R, std::int64_t(const bucket_map& map, double distance)> bucket = bucket_of;
    /// The bias of query i and key j, where `terms` are what their positions give.
    recipe_step<R, R(std::size_t i, std::size_t j, const std::vector<R>& terms, const R& theta_1, const R& theta_2)>
        reset = [](std::size_t i, std::size_t j, const std::vector<R>& terms, const R& theta_1, const R& theta_2) {
          return i == 0 ? theta_1 : j == 0 ? theta_2 : sum_of(terms);
        };
  };
  template <class R>
  static R sum_of(const std::vector<R>& terms) {
    return terms.size() == 1 ? terms.front() : terms.front() + terms.back();
  }

  static bucket_map map_of(const core::attributes& settings) {
    return {core::setting<std::int64_t>(settings, "buckets"), core::setting<std::int64_t>(settings, "max_distance")};
  }
  template <class R>
  static std::vector<operation_record<R, recipe<R>>> records() {
    return {pair_bias_record<pairs, R>(declaration())};
  }

 private:
  static core::operation declaration();
  template <class R>
  struct pairs;
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
          .attributes = {choice("relative", {"t5", "none"}, "the bias of T5 is added, or not"),
                         integer("buckets", {32, 8}, {4, 256}, "number of buckets, those of both directions", "b"),
                         integer("max_distance", {128, 16}, {2, 0x1p31},
                                 "from here on all distances share the last bucket")},
          .stages = score_stages(),
          .independent = {"h"},
          .conflict = [](const core::attributes& settings, const core::axis_sizes&) {
            return map_of(settings).conflict();
          }};
}

template <class R>
struct tupe::pairs {
  using recipe = tupe::recipe<R>;
  const field<R>&p_q, &p_k, &theta, &table;
  const recipe& how;
  bucket_map map;
  bool relative;

  pairs(const arguments<R>& call, const recipe& steps)
      : p_q(call["p_q"]),
        p_k(call["p_k"]),
        theta(call["theta"]),
        table(call["table"]),
        how(steps),
        map(map_of(call.settings)),
        relative(core::chosen<bool>(call.settings, "relative", {{"t5", true}, {"none", false}})) {}
  [[nodiscard]] std::vector<std::size_t> lanes() const { return {p_q.shape(0)}; }
  [[nodiscard]] std::optional<double> distance(double query, double key) const { return key - query; }
  void operator()(const key_of_query& at, R* bias) const {
    const std::size_t heads = p_q.shape(0), n = p_q.shape(1), width = p_q.shape(2);
    const auto bucket = static_cast<std::size_t>(how.bucket(map, at.distance));
    for (std::size_t h = 0; h < heads; ++h)
      bias[h] = in_stage<R>(attention_stage::scores, [&] {
        std::vector<R> terms{how.product(how.factor(width, heads, 2), p_q.data() + (h * n + at.i) * width,
                                         p_k.data() + (h * n + at.j) * width, width)};
        if (relative) terms.push_back(table(h, bucket));
        return how.reset(at.i, at.j, terms, theta(h, 0), theta(h, 1));
      });
  }
};

}  // namespace assay::reference::encodings
