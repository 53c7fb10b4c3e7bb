// The relative scores of XLNet (Yang et al., "XLNet: Generalized Autoregressive Pretraining for Language
// Understanding", NeurIPS 2019, arXiv 1906.08237): those of Transformer-XL (transformer_xl.hpp) in both directions, and
// a term for whether two tokens are in the same segment,
//
//   s_ij = ((q_i + u) . k_j + (q_i + v) . p_{i - j} + (q_i + w) . e_g(i, j)) / sqrt(d) sections 2.4, 2.5
//
// as in rel_attn_core of zihangdai/xlnet. Shapes: q, k [B, h, n, d]; u, v, w [h, d] (r_w_bias, r_r_bias, r_s_bias); p
// [h, 2n, d], the keys of the distances n to 1 - n, where no pair has the first distance; e [h, 2, d], for the same
// segment and for another one; g [B, n, n], 0 or 1, as `other_segment`; s [B, h, n, n]. Nothing is masked.
#pragma once

#include <string_view>

#include "reference/kinds/relative_scores.hpp"

namespace assay::reference::encodings {

struct xlnet {
  static constexpr std::string_view name = "xlnet";
  static core::encoding_summary summary() {
    return {.what = "the scores of Transformer-XL in both directions, with segments",
            .formula = "s_ij = ((q_i + u) . k_j + (q_i + v) . W R_{i-j} + (q_i + w) . e_g(i,j)) / sqrt(d)",
            .sources = {{"Yang et al. 2019", "https://arxiv.org/abs/1906.08237"}}};
  }

  /// The steps that variants replace.
  struct scheme : score_scheme, recorded_scheme<scheme> {
    /// The row of p for query i and key j of n.
    std::function<std::size_t(std::size_t i, std::size_t j, std::size_t n)> row =
        [](std::size_t i, std::size_t j, std::size_t n) { return n + j - i; };
  };
  static std::vector<recorded_formula<scheme>> formulas() { return {{declaration(), recorded}}; }

 private:
  static core::operation declaration();
  static formula::program recorded(const scheme& steps, const formula::program_sizes& call);
};

inline core::operation xlnet::declaration() {
  core::operation scores = relative_scores("xlnet/scores", "n");
  scores.source = "Yang et al. 2019, arXiv 1906.08237, sections 2.4 and 2.5";
  add_vectors_of_heads(scores, {{"u", "added to queries that meet keys"},
                                {"v", "added to queries that meet distances"},
                                {"w", "added to queries that meet segments"}});
  scores.inputs.push_back({.name = "p", .axes = {"h", "2n", "d"}, .meaning = "keys of the distances n to 1 - n"});
  scores.inputs.push_back(core::parameter("e", {"h", "2", "d"}, "keys of the same segment, and of another one"));
  scores.inputs.push_back(core::integers("other_segment", {"B", "n", "n"}, "1 where query and key differ in segment",
                                         {0, 1}, core::input_role::value));
  return scores;
}

inline formula::program xlnet::recorded(const scheme& steps, const formula::program_sizes& call) {
  using formula::traced, formula::traced_integer;
  recorded_call in(call);
  const std::size_t rows = in.size("B"), heads = in.size("h"), n = in.size("n");
  const traced q = in["q"];
  const auto none = traced_integer::constant(0),
             differs = either(equal(in.integers("other_segment"), none), none, traced_integer::constant(1));
  const auto segments = broadcast(reshaped(differs, {rows, 1, n, n}), {rows, heads, n, n});
  const auto distances = integers_of_pairs(n, n, [&](std::size_t i, std::size_t j) { return steps.row(i, j, n); });
  return in.finish(in_stage<traced>(score_stage::scores, [&] {
    return steps.scaled_scores(steps.factor(in.size("d"), heads, 1),
                               {{plus_vector_of_head(q, in["u"]), in["k"], "bhid,bhjd->bhij"},
                                {plus_vector_of_head(q, in["v"]), in["p"], "bhid,hrd->bhir",
                                 [&](const traced& s) { return products_by_query(s, distances); }},
                                {plus_vector_of_head(q, in["w"]), in["e"], "bhid,hrd->bhir",
                                 [&](const traced& s) { return taken_along(s, segments, 3); }}});
  }));
}

}  // namespace assay::reference::encodings
