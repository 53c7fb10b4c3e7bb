// The relative scores of Transformer-XL (Dai et al., "Transformer-XL: Attentive Language Models beyond a Fixed-Length
// Context", ACL 2019, arXiv 1901.02860), and the reshaping by which programs find the distance of a pair.
//
// `transformer_xl/scores`: with a key p_t for each distance t, and two vectors of a head in place of queries,
//
//   s_ij = ((q_i + u) . k_j + (q_i + v) . p_t) / sqrt(d),   t = i + m - n - j >= 0                          section 3.3
//
// Shapes: q [B, h, n, d], k [B, h, m, d]; u, v [h, d]; p [h, m, d], the rows W_{k,R} R_t; s [B, h, n, m]. Queries are
// the last of the keys, m - n of which are the memory. Keys behind the query have -inf, a constant. `clamp`: distances
// beyond it count as it; 0: none do.
//
// `transformer_xl/shift` is _rel_shift of kimiyoung/transformer-xl: x [B, h, n, m] holds for each query what belongs to
// the distances m - 1 to 0; y_ij is what belongs to key j,
//
//   y_ij = x_{i, j + n - 1 - i} for j <= i + m - n
//
// which a column of zeros before x and a reshaping give. `above` the diagonal they leave the 0 and numbers of the next
// queries ("leak": Appendix B does not say so, and the program does not mask them); or there is 0, or -inf.
// `transformer_xl/shift_both_sides` is that of XLNet (Yang et al. 2019, arXiv 1906.08237; rel_shift of
// zihangdai/xlnet): x [B, h, n, 2n] holds the distances n to 1 - n, y_ij = x_{i, n - i + j}. The first column is used
// by no pair: programs with 2n - 1 columns (Conformer, Gulati et al. 2020) have the others. Both copy: no element is
// rounded, whatever it is, and gradients are copies as well.
#pragma once

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/kinds/relative_scores.hpp"

namespace assay::reference::encodings {

struct transformer_xl {
  static constexpr std::string_view name = "transformer_xl";
  static core::encoding_summary summary() {
    return {.what = "scores with keys of distances, and the relative shift",
            .formula = "s_ij = ((q_i + u) . k_j + (q_i + v) . W R_{i-j}) / sqrt(d)",
            .sources = {{"Dai et al. 2019", "https://arxiv.org/abs/1901.02860"}},
            .also = {{"the four terms of a score of x + p",
                      "transformer_xl/scores, one query with its position for `u` and `v`"},
                     {"the relative positions of Conformer", "transformer_xl/shift_both_sides"}}};
  }

  /// The steps that variants replace.
  template <class R>
  struct recipe : score_steps<R>, differentiable_recipe<recipe, R> {
    /// The row of p for query i and key j, or none: the key is masked.
    recipe_step<R, std::ptrdiff_t(std::size_t i, std::size_t j, std::size_t n, std::size_t m)> distance =
        [](std::size_t i, std::size_t j, std::size_t n, std::size_t m) {
          return static_cast<std::ptrdiff_t>(i + m) - static_cast<std::ptrdiff_t>(n + j);
        };
    /// The place in a row of so many columns that y_ij of n queries is taken from, counted on through the rows.
    recipe_step<R, std::size_t(std::size_t i, std::size_t j, std::size_t n, std::size_t columns)> place =
        [](std::size_t i, std::size_t j, std::size_t n, std::size_t columns) { return n + i * (columns - 1) + j; };
  };

  template <class R>
  static std::vector<operation_record<R, recipe<R>>> records() {
    return {query_rows_record<causal_shift, R>(shift_declaration(true)),
            query_rows_record<whole_shift, R>(shift_declaration(false)),
            query_rows_record<score_rows, R>(scores_declaration())};
  }

 private:
  static core::operation shift_declaration(bool causal);
  static core::operation scores_declaration();
  template <class R, bool causal>
  struct shifted_rows;
  template <class R>
  struct causal_shift;
  template <class R>
  struct whole_shift;
  template <class R>
  struct score_rows;
};

inline core::operation transformer_xl::shift_declaration(bool causal) {
  const auto logits = [](const char* called, const char* columns, const char* meaning) {
    return core::tensor_declaration{.name = called,
                                    .axes = {"B", "h", "n", columns},
                                    .meaning = meaning,
                                    .domain = {.minus_infinity = true},
                                    .scale = core::error_scale::relative,
                                    .role = core::input_role::logit};
  };
  core::operation shift{
      .name = causal ? "transformer_xl/shift" : "transformer_xl/shift_both_sides",
      .source = causal ? "Dai et al. 2019, arXiv 1901.02860, Appendix B" : "zihangdai/xlnet, modeling.py, rel_shift",
      .inputs = {logits("x", causal ? "m" : "2n", "of each query, by distance from the largest on")},
      .outputs = {logits("y", causal ? "m" : "n", "of each query, by key")},
      .independent = {"B", "h"},
      .named_only = true};
  shift.inputs.front().differentiable = false;
  if (causal)
    shift.attributes = {
        choice("above", {"leak", "zero", "masked"}, "behind the query: what the reshaping leaves there, 0, or -inf")};
  return shift;
}
inline core::operation transformer_xl::scores_declaration() {
  core::operation scores = relative_scores("transformer_xl/scores", "m");
  scores.source = "Dai et al. 2019, arXiv 1901.02860, section 3.3";
  add_vectors_of_heads(scores,
                       {{"u", "added to queries that meet keys"}, {"v", "added to queries that meet distances"}});
  scores.inputs.push_back({.name = "p", .axes = {"h", "m", "d"}, .meaning = "keys of the distances 0, 1, ..."});
  scores.outputs.front().domain.minus_infinity = true;
  scores.attributes = {integer("clamp", {0, 1, 5}, {0, 0x1p31}, "the largest distance told apart; 0: no limit")};
  return scores;
}

template <class R, bool causal>
struct transformer_xl::shifted_rows {
  using recipe = transformer_xl::recipe<R>;
  const field<R>& x;
  const recipe& how;
  bool leaks = true;
  R outside = R(0.0);

  shifted_rows(const arguments<R>& call, const recipe& steps) : x(call["x"]), how(steps) {
    if constexpr (causal) {
      constexpr double infinite = std::numeric_limits<double>::infinity();
      leaks = core::chosen<bool>(call.settings, "above", {{"leak", true}, {"zero", false}, {"masked", false}});
      outside = R(core::chosen<double>(call.settings, "above", {{"leak", 0.0}, {"zero", 0.0}, {"masked", -infinite}}));
    }
  }
  std::vector<std::vector<R>> operator()(std::size_t block, std::size_t i) const {
    const std::size_t n = x.shape(2), own = x.shape(3), zeros = causal ? 1 : 0, columns = own + zeros;
    std::vector<R> y;
    for (std::size_t j = 0; j < (causal ? own : n); ++j) {
      const std::size_t place = how.place(i, j, n, columns), row = place / columns, column = place % columns;
      const bool within = row == i || leaks;
      y.push_back(!within ? outside : column < zeros ? R(0.0) : x.data()[(block * n + row) * own + column - zeros]);
    }
    return {std::move(y)};
  }
};
template <class R>
struct transformer_xl::causal_shift : shifted_rows<R, true> {
  using shifted_rows<R, true>::shifted_rows;
};
template <class R>
struct transformer_xl::whole_shift : shifted_rows<R, false> {
  using shifted_rows<R, false>::shifted_rows;
};

template <class R>
struct transformer_xl::score_rows {
  using recipe = transformer_xl::recipe<R>;
  const field<R>&q, &k, &u, &v, &p;
  const recipe& how;
  std::size_t clamp;

  score_rows(const arguments<R>& call, const recipe& steps)
      : q(call["q"]),
        k(call["k"]),
        u(call["u"]),
        v(call["v"]),
        p(call["p"]),
        how(steps),
        clamp(static_cast<std::size_t>(call.template setting<std::int64_t>("clamp"))) {
    if (clamp == 0) clamp = std::numeric_limits<std::size_t>::max();
  }
  std::vector<std::vector<R>> operator()(std::size_t block, std::size_t i) const {
    const std::size_t n = q.shape(2), m = k.shape(2), heads = q.shape(1), width = q.shape(3), head = block % heads;
    const R* query = q.data() + (block * n + i) * width;
    return scores_of_query<R>([&] {
      const R factor = how.factor(width, heads, 1);
      const std::vector<R> to_key = sum_of_vectors(query, u.data() + head * width, width),
                           to_distance = sum_of_vectors(query, v.data() + head * width, width);
      std::vector<R> s(m, R(-std::numeric_limits<double>::infinity()));
      for (std::size_t j = 0; j < m; ++j)
        if (const std::ptrdiff_t distance = how.distance(i, j, n, m); distance >= 0) {
          const std::size_t row = std::min(static_cast<std::size_t>(distance), clamp);
          s[j] = how.score(factor, {how.product(to_key.data(), k.data() + (block * m + j) * width, width),
                                    how.product(to_distance.data(), p.data() + (head * m + row) * width, width)});
        }
      return s;
    });
  }
};

}  // namespace assay::reference::encodings
