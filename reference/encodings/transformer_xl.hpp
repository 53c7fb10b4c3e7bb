// The relative scores of Transformer-XL (Dai et al., "Transformer-XL: Attentive Language Models beyond a Fixed-Length
// Context", ACL 2019, arXiv 1901.02860), and the reshaping with which programs find the distance of a pair.
//
// `transformer_xl/scores`, with a key p_t for each distance t, and two vectors of a head that are added to queries:
//
//   s_ij = ((q_i + u) . k_j + (q_i + v) . p_t) / sqrt(d),   t = i + m - n - j >= 0                          section 3.3
//
// Shapes: q [B, h, n, d], k [B, h, m, d]; u, v [h, d]; p [h, m, d], the rows W_{k,R} R_t; s [B, h, n, m]. Queries are
// the last of the keys, m - n of which are the memory. Keys after the query have -inf, a constant. `clamp`: larger
// distances count as this one; 0 means no limit.
//
// `transformer_xl/shift` is _rel_shift of kimiyoung/transformer-xl: x [B, h, n, m] holds, for each query, the numbers
// for the distances m - 1 to 0; y_ij is the number for key j,
//
//   y_ij = x_{i, j + n - 1 - i} for j <= i + m - n
//
// A column of zeros before x and a reshaping give this. `above` the diagonal they leave the 0 and numbers of the next
// queries ("leak": Appendix B does not say so, and the program does not mask them); or there is 0, or -inf.
// `transformer_xl/shift_both_sides` is the shift of XLNet (Yang et al. 2019, arXiv 1906.08237; rel_shift of
// zihangdai/xlnet): x [B, h, n, 2n] holds the distances n to 1 - n, y_ij = x_{i, n - i + j}. No pair uses the first
// column: programs with 2n - 1 columns (Conformer, Gulati et al. 2020) have the others. Both shifts copy: no
// element is rounded, whatever it is, and gradients are copies as well.
#pragma once

#include <algorithm>
#include <limits>
#include <string_view>

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
  struct scheme : score_scheme, recorded_scheme<scheme> {
    /// The row of p for query i and key j; a negative number means that the key is masked.
    std::function<std::ptrdiff_t(std::size_t i, std::size_t j, std::size_t n, std::size_t m)> distance =
        [](std::size_t i, std::size_t j, std::size_t n, std::size_t m) {
          return static_cast<std::ptrdiff_t>(i + m) - static_cast<std::ptrdiff_t>(n + j);
        };
    /// The place from which y_ij of n queries is taken, in rows with `columns` columns, counted on through the rows.
    std::function<std::size_t(std::size_t i, std::size_t j, std::size_t n, std::size_t columns)> place =
        [](std::size_t i, std::size_t j, std::size_t n, std::size_t columns) { return n + i * (columns - 1) + j; };
  };
  static std::vector<recorded_formula<scheme>> formulas() {
    const auto shifted_by = [](bool causal) {
      return recorded_formula<scheme>{
          shift_declaration(causal),
          [causal](const scheme& steps, const formula::program_sizes& call) { return shifted(causal, steps, call); }};
    };
    return {shifted_by(true), shifted_by(false), {scores_declaration(), scores}};
  }

 private:
  static core::operation shift_declaration(bool causal);
  static core::operation scores_declaration();
  static formula::program shifted(bool causal, const scheme& steps, const formula::program_sizes& call);
  static formula::program scores(const scheme& steps, const formula::program_sizes& call);
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
      .inputs = {logits("x", causal ? "m" : "2n",
                        "the numbers of each query, by distance, from the largest distance on")},
      .outputs = {logits("y", causal ? "m" : "n", "the numbers of each query, by key")},
      .independent = {"B", "h"},
      .named_only = true};
  shift.inputs.front().differentiable = false;
  if (causal)
    shift.attributes = {choice("above", {"leak", "zero", "masked"},
                               "what stands at keys after the query: what the reshaping leaves there, 0, or -inf")};
  return shift;
}
inline core::operation transformer_xl::scores_declaration() {
  core::operation scores = relative_scores("transformer_xl/scores", "m");
  scores.source = "Dai et al. 2019, arXiv 1901.02860, section 3.3";
  add_vectors_of_heads(scores,
                       {{"u", "added to queries that meet keys"}, {"v", "added to queries that meet distances"}});
  scores.inputs.push_back({.name = "p", .axes = {"h", "m", "d"}, .meaning = "keys of the distances 0, 1, ..."});
  scores.outputs.front().domain.minus_infinity = true;
  scores.attributes = {
      integer("clamp", {0, 1, 5}, {0, 0x1p31}, "from which distance on all share a row; 0: from none")};
  return scores;
}

inline formula::program transformer_xl::shifted(bool causal, const scheme& steps, const formula::program_sizes& call) {
  using formula::traced;
  constexpr double infinite = std::numeric_limits<double>::infinity();
  recorded_call in(call);
  enum class above { leak, zero, masked };
  const auto left = causal
                        ? core::chosen<above>(call.settings, "above",
                                              {{"leak", above::leak}, {"zero", above::zero}, {"masked", above::masked}})
                        : above::leak;
  const std::size_t n = in.size("n"), m = causal ? in.size("m") : n, own = causal ? m : 2 * n, zeros = causal ? 1 : 0,
                    columns = own + zeros, rows = in.size("B"), heads = in.size("h");
  // After all numbers of a head come 0, and the number above the diagonal.
  const auto places = integers_of_pairs(n, m, [&](std::size_t i, std::size_t j) {
    const std::size_t place = steps.place(i, j, n, columns), row = place / columns, column = place % columns;
    const bool is_left = row != i && left != above::leak;
    return static_cast<std::int64_t>(is_left ? n * own + 1 : column < zeros ? n * own : row * own + column - zeros);
  });
  const traced x = reshaped(in["x"], {rows, heads, n * own});
  const auto number = [&](double value) { return broadcast(traced(value), {rows, heads, 1}); };
  const auto with_numbers = [&] {
    return formula::joined({x, number(0.0), number(left == above::masked ? -infinite : 0.0)}, 2);
  };
  return in.finish(gathered(causal ? with_numbers() : x, places, 2));
}

inline formula::program transformer_xl::scores(const scheme& steps, const formula::program_sizes& call) {
  using formula::traced;
  recorded_call in(call);
  const std::size_t n = in.size("n"), m = in.size("m");
  const auto most = in.setting<std::int64_t>("clamp");
  const auto distances = integers_of_pairs(n, m, [&](std::size_t i, std::size_t j) {
    const auto distance = static_cast<std::int64_t>(steps.distance(i, j, n, m));
    return most == 0 ? distance : std::min(distance, most);
  });
  const auto none = formula::traced_integer::constant(0);
  const auto is_behind = less(distances, none);
  const auto rows = either(is_behind, none, distances);
  const traced q = in["q"];
  return in.finish(in_stage<traced>(score_stage::scores, [&] {
    const traced s = steps.scaled_scores(steps.factor(in.size("d"), in.size("h"), 1),
                                         {{plus_vector_of_head(q, in["u"]), in["k"], "bhid,bhjd->bhij"},
                                          {plus_vector_of_head(q, in["v"]), in["p"], "bhid,hrd->bhir",
                                           [&](const traced& products) { return products_by_query(products, rows); }}});
    return either(is_behind, traced(-std::numeric_limits<double>::infinity()), s);
  }));
}

}  // namespace assay::reference::encodings
