// Contextual positions (Golovneva, Wang, Weston and Sukhbaatar, "Contextual Position Encoding: Learning to Count What's
// Important", 2024, arXiv 2405.18719): the distance of a key is the number of gates that are open between it and the
// query,
//
//   p_ij = min(sum_{j <= l <= i} sigmoid(g_il), positions - 1)                                       eqs. (3) and (4)
//
// `cope/interpolate` looks up this position in the numbers z_i = q_i . e that a query has for each row of a table e,
//
//   b_ij = w z_i[ceil p_ij] + (1 - w) z_i[floor p_ij],   w = p_ij - floor p_ij                               eq. (5)
//
// and `cope/attention` uses both: o_i = softmax_j(S_ij + c b_ij) v_j with the logits S = scale q k^T, which are also
// the logits of the gates. `position_scale` is c: 1, as in the paper's listing, or 1 / sqrt(d), as in
// facebookresearch/RAM (projects/cope/src/cope/context_position.py) without its option cope_nodiv.
//
// Shapes: gate logits g, positions p and biases b [B, h, n, m]; z [B, h, n, a], positions 0 to a - 1; q [B, h, n, d], k
// [B, h, m, d], v [B, h, m, e], table [d, a], o [B, h, n, e]. Queries are the last of the keys: query i stands at key i
// + m - n, and its own gate counts. `causal`: keys after the query have no gate and no weight, and p = 0, a constant;
// else all keys have one. `positions`: the size of the table that p looks into; 0 means no limit.
//
// At an integer p the value is unique, but the gradient of p is not. Published code has 0, as ceil and floor are the
// same there; the slopes on either side are z[p + 1] - z[p] and z[p] - z[p - 1]. The truth is 0, and the allowance
// reaches to either slope. It does so, too, where the error of p may move it across an integer
// (algorithms/interpolation.hpp). Beyond the ends of the table p counts as the end; without a table b is 0.
//
// Special values: a gate logit of -inf gives 0, and +inf gives 1; NaN reaches its own key and older ones. Beyond the
// limit the gradient is 0; at the limit it is that of the sum, as in PyTorch's clamp; a sum of 0 is no limit. Laws:
// sums from the query back are of class sequential. Gradients of gates by y (1 - y), as in automatic differentiation,
// are of class linear. The total less prefix sums is of class cumsum.
#pragma once

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "reference/kinds/attention.hpp"

namespace assay::reference::encodings {

struct cope {
  static constexpr std::string_view name = "cope";
  static core::encoding_summary summary() {
    return {.what = "contextual positions: gates are counted",
            .formula = "p_ij = sum_{j<=l<=i} sigmoid(q_i . k_l), o_i = softmax_j(q_i . k_j + q_i . e[p_ij]) v_j",
            .sources = {{"Golovneva et al. 2024", "https://arxiv.org/abs/2405.18719"}}};
  }

  using traced = formula::traced;
  struct scheme : attention_scheme, recorded_scheme<scheme> {
    std::function<traced(const traced& x)> gate = [](const traced& x) { return sigmoid(x); };
    /// Sums of gates from each key on, up to the query; gates of keys that the query does not see are 0.
    std::function<traced(const traced& gates, const formula::traced_truth& seen)> sums =
        [](const traced& gates, const formula::traced_truth&) { return sums_from_each_on(gates, keys); };
    /// The table z at positions p.
    std::function<traced(const traced& z, const traced& p)> between = formula::interpolated;
  };
  static scheme algorithm(accuracy_class c) {
    scheme steps;
    if (c == accuracy_class::linear)
      steps.gate = [](const traced& x) {
        const traced y = sigmoid(x);
        return with_slope(y, x, y * (traced(1.0) - y));
      };
    if (c == accuracy_class::cumsum)
      steps.sums = [](const traced& gates, const formula::traced_truth&) {
        return sums_from_each_on_by_total(gates, keys);
      };
    return steps;
  }
  static std::vector<recorded_formula<scheme>> formulas() {
    const std::vector<accuracy_class> sums{accuracy_class::sequential, accuracy_class::linear, accuracy_class::cumsum};
    return {{positions_declaration(), positions, sums},
            {interpolate_declaration(), interpolate},
            {attention_declaration(), attention, sums}};
  }
  static constexpr std::size_t keys = 3;  ///< the axis of keys

  /// The parts that have a format of their own, after the stages of attention; cope/interpolate has `interpolation`
  /// alone.
  enum class stage { gates = 4, positions, interpolation };

 private:
  static core::operation positions_declaration();
  static core::operation interpolate_declaration();
  static core::operation attention_declaration();
  static formula::traced_truth seen_keys(const recorded_call& in) {
    return seen_of(in, seen_by_last_queries(in.size("n"), in.size("m"), in.setting<bool>("causal")));
  }
  /// The gates; 0 for keys that are not seen.
  static traced gates_of(const scheme& steps, const traced& logits, const formula::traced_truth& seen) {
    const traced none(0.0);
    return either(seen, steps.gate(either(seen, logits, none)), none);
  }
  /// Positions from the gates of keys, in a table of this size; 0 means no limit.
  static traced positions_of(const scheme& steps, const traced& gates, const formula::traced_truth& seen,
                             std::int64_t size);
  static formula::program positions(const scheme& steps, const formula::program_sizes& call);
  static formula::program interpolate(const scheme& steps, const formula::program_sizes& call);
  static formula::program attention(const scheme& steps, const formula::program_sizes& call);
};

inline core::operation cope::positions_declaration() {
  return {.name = "cope/positions",
          .source = "Golovneva et al. 2024, arXiv 2405.18719, eqs. (3) and (4)",
          .inputs = {{.name = "g",
                      .axes = {"B", "h", "n", "m"},
                      .meaning = "gate logits, queries by keys; -inf: the gate is closed",
                      .domain = {.minus_infinity = true},
                      .role = core::input_role::logit}},
          // The output is a sum of gates that are all at least 0: nothing cancels.
          .outputs = {{.name = "p",
                       .axes = {"B", "h", "n", "m"},
                       .meaning = "positions of keys, counted from the query",
                       .domain = {.low = 0.0},
                       .scale = core::error_scale::relative}},
          .attributes = {integer("positions", {0, 3, 33}, {.low = 0.0, .high = 0x1p31},
                                 "how many positions the table has; 0: no limit"),
                         flag("causal", true, "whether keys after the query have no gate")},
          .grows_with = core::with_keys,
          .independent = {"B", "h"},
          .named_only = true};
}

inline core::operation cope::interpolate_declaration() {
  return {.name = "cope/interpolate",
          .source = "Golovneva et al. 2024, arXiv 2405.18719, eq. (5)",
          .inputs = {{.name = "p",
                      .axes = {"B", "h", "n", "m"},
                      .meaning = "positions of keys, counted from the query; beyond a - 1 they count as a - 1",
                      .domain = {.low = 0.0}},
                     {.name = "z", .axes = {"B", "h", "n", "a"}, .meaning = "what a query has for each position"}},
          .outputs = {{.name = "b", .axes = {"B", "h", "n", "m"}, .meaning = "logit bias, queries by keys"}},
          .stages = {{.name = "interpolation", .meaning = "the weights of two positions, and b", .narrow = true}},
          .independent = {"B", "h", "n"},
          .axis_roles = {{"a", core::axis_role::parameter}}};
}

inline core::operation cope::attention_declaration() {
  core::operation attention = attention_operation(
      "cope/attention", "m", core::parameter("table", {"d", "a"}, "what q meets for each position, from 0 on"));
  attention.source = "Golovneva et al. 2024, arXiv 2405.18719, eqs. (3) to (5)";
  attention.attributes.push_back(
      choice("position_scale", {"one", "inverse_sqrt"}, "what multiplies q . table: 1, or 1 / sqrt(d)"));
  attention.attributes.push_back(flag("causal", true, "whether a query sees no key after its own"));
  attention.stages.push_back({.name = "gates", .meaning = "sigmoid of the logits"});
  attention.stages.push_back({.name = "positions", .meaning = "sums of gates"});
  attention.stages.push_back(interpolate_declaration().stages.front());
  attention.grows_with = core::with_keys;
  attention.independent = {"B", "h"};
  attention.axis_roles = interpolate_declaration().axis_roles;
  return attention;
}

inline cope::traced cope::positions_of(const scheme& steps, const traced& gates, const formula::traced_truth& seen,
                                       std::int64_t size) {
  const traced p = either(seen, steps.sums(gates, seen), traced(0.0));
  if (size == 0) return p;
  const traced last = index_number(formula::traced_integer::constant(size - 1));
  // The gradient at the limit is that of the sum.
  return recorded(formula::op::with_gradient_of, recorded(formula::op::minimum, p, last),
                  either(less(last, p), last, p));
}

inline formula::program cope::positions(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const formula::traced_truth seen = seen_keys(in);
  return in.finish(positions_of(steps, gates_of(steps, in["g"], seen), seen, in.setting<std::int64_t>("positions")));
}

inline formula::program cope::interpolate(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced z = in["z"], p = in["p"];
  return in.finish(in_stage<traced>(0, [&] { return steps.between(z, p); }));
}

inline formula::program cope::attention(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced q = in["q"], k = in["k"];
  const std::size_t a = in.size("a"), m = in.size("m");
  // A position is at most the number of keys: later rows of the table are never read.
  const traced table = between(in["table"], 1, 0, std::min(a, m + 1));
  const formula::traced_truth seen = seen_keys(in);
  const auto factor = [&](const char* setting) {
    return factor_of_logits(in.setting<std::string>(setting), in.size("d"));
  };
  const traced logits = in_stage<traced>(
      attention_stage::scores, [&] { return factor("scale") * contracted_at(seen, q, k, "bhid,bhjd->bhij"); });
  const traced gates = in_stage<traced>(stage::gates, [&] { return gates_of(steps, logits, seen); });
  const traced p = in_stage<traced>(stage::positions, [&] {
    return positions_of(steps, gates, seen, static_cast<std::int64_t>(std::max<std::size_t>(a, 1)));
  });
  const traced b =
      in_stage<traced>(stage::interpolation, [&] { return steps.between(contracted(q, table, "bhid,da->bhia"), p); });
  const traced bias = in_stage<traced>(attention_stage::scores, [&] { return factor("position_scale") * b; });
  return in.finish(attended(steps, in, logits_of(steps, in, bias, seen), seen));
}

}  // namespace assay::reference::encodings
