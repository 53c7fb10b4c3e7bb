// The relative scores of XLNet (Yang et al., "XLNet: Generalized Autoregressive Pretraining for Language
// Understanding", NeurIPS 2019, arXiv 1906.08237): those of Transformer-XL (transformer_xl.hpp) in both directions, and
// a term that tells whether two tokens are of the same segment,
//
//   s_ij = ((q_i + u) . k_j + (q_i + v) . p_{i - j} + (q_i + w) . e_g(i, j)) / sqrt(d) sections 2.4, 2.5
//
// as rel_attn_core of zihangdai/xlnet has it. Shapes: q, k [B, h, n, d]; u, v, w [h, d] (r_w_bias, r_r_bias, r_s_bias);
// p [h, 2n, d], the keys of the distances n to 1 - n, the first of which no pair has; e [h, 2, d], of the same segment
// and of another one; g [B, n, n], 0 or 1, as `other_segment`; s [B, h, n, n]. Nothing is masked.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

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
  template <class R>
  struct recipe : score_steps<R>, differentiable_recipe<recipe, R> {
    /// The row of p for query i and key j of n.
    recipe_step<R, std::size_t(std::size_t i, std::size_t j, std::size_t n)> row =
        [](std::size_t i, std::size_t j, std::size_t n) { return n + j - i; };
  };

  template <class R>
  static std::vector<operation_record<R, recipe<R>>> records() {
    return {query_rows_record<score_rows, R>(declaration())};
  }

 private:
  static core::operation declaration();
  template <class R>
  struct score_rows;
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

template <class R>
struct xlnet::score_rows {
  using recipe = xlnet::recipe<R>;
  const field<R>&q, &k, &u, &v, &w, &p, &e;
  const core::tensor& other_segment;
  const recipe& how;

  score_rows(const arguments<R>& call, const recipe& steps)
      : q(call["q"]),
        k(call["k"]),
        u(call["u"]),
        v(call["v"]),
        w(call["w"]),
        p(call["p"]),
        e(call["e"]),
        other_segment(call.integers.at("other_segment")),
        how(steps) {}
  std::vector<std::vector<R>> operator()(std::size_t block, std::size_t i) const {
    const std::size_t n = q.shape(2), heads = q.shape(1), width = q.shape(3), head = block % heads;
    const auto query_with = [&](const field<R>& of_head) {
      return sum_of_vectors(q.data() + (block * n + i) * width, of_head.data() + head * width, width);
    };
    const auto to = [&](const std::vector<R>& query, const field<R>& keys, std::size_t row) {
      return how.product(query.data(), keys.data() + row * width, width);
    };
    return scores_of_query<R>([&] {
      const R factor = how.factor(width, heads, 1);
      const std::vector<R> to_keys = query_with(u), to_distances = query_with(v), to_segments = query_with(w);
      std::vector<R> s;
      for (std::size_t j = 0; j < n; ++j) {
        const bool differs = other_segment.values.storage()[(block / heads * n + i) * n + j] != 0.0;
        s.push_back(
            how.score(factor, {to(to_keys, k, block * n + j), to(to_distances, p, head * 2 * n + how.row(i, j, n)),
                               to(to_segments, e, head * 2 + (differs ? 1 : 0))}));
      }
      return s;
    });
  }
};

}  // namespace assay::reference::encodings
