// Contextual positions (Golovneva, Wang, Weston and Sukhbaatar, "Contextual Position Encoding: Learning to Count What's
// Important", 2024, arXiv 2405.18719): the distance of a key is the number of gates that are open between it and the
// query,
//
//   p_ij = min(sum_{j <= l <= i} sigmoid(g_il), positions - 1)                                       eqs. (3) and (4)
//
// `cope/interpolate` looks it up in what a query has for each position of a table, z_i = q_i . e,
//
//   b_ij = w z_i[ceil p_ij] + (1 - w) z_i[floor p_ij],   w = p_ij - floor p_ij                               eq. (5)
//
// and `cope/attention` is what both are for, o_i = softmax_j(S_ij + c b_ij) v_j with the logits S = scale q k^T, which
// are the logits of the gates, too. `position_scale` is c: 1, as the paper's listing has it, or 1 / sqrt(d), as
// facebookresearch/RAM has it (projects/cope/src/cope/context_position.py) without its option cope_nodiv.
//
// Shapes: gate logits g, positions p and biases b [B, h, n, m]; z [B, h, n, a], positions 0 to a - 1; q [B, h, n, d],
// k [B, h, m, d], v [B, h, m, e], table [d, a], o [B, h, n, e]. Queries are the last of the keys: query i stands at key
// i + m - n, and its own gate counts. `causal`: keys behind it have no gate and no weight, and p = 0, a constant; else
// all keys have one. `positions`: the size of the table that p looks into; 0: no limit.
//
// At an integer p the value is unique and the gradient of p is not: published code has 0, as ceil and floor are the
// same; the slopes on either side are z[p + 1] - z[p] and z[p] - z[p - 1]. The truth is 0, and the allowance reaches to
// either slope, as it does where the error of p may take it across an integer (algorithms/interpolation.hpp). Beyond
// the ends of the table p counts as the end; without a table b is 0.
//
// Special values: the gate of -inf is 0, that of +inf 1; NaN reaches its own key and older ones. Beyond the limit the
// gradient is 0, at the limit that of the sum, as in PyTorch's clamp; a sum of 0 is no limit. Laws: sums from the query
// back are of class sequential; gradients of gates by y (1 - y), as automatic differentiation has them, of class
// linear; the total less prefix sums of class cumsum.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "reference/accuracy_class.hpp"
#include "reference/algorithms/interpolation.hpp"
#include "reference/algorithms/sigmoid_of_autograd.hpp"
#include "reference/algorithms/suffix_sums.hpp"
#include "reference/kinds/attention.hpp"
#include "reference/kinds/declarations.hpp"
#include "reference/kinds/query_rows.hpp"

namespace assay::reference::encodings {

struct cope {
  static constexpr std::string_view name = "cope";
  static core::encoding_summary summary() {
    return {.what = "contextual positions: gates are counted",
            .formula = "p_ij = sum_{j<=l<=i} sigmoid(q_i . k_l), o_i = softmax_j(q_i . k_j + q_i . e[p_ij]) v_j",
            .sources = {{"Golovneva et al. 2024", "https://arxiv.org/abs/2405.18719"}}};
  }

  template <class R>
  struct recipe : attention_steps<R>, interpolation_steps<R>, differentiable_recipe<recipe, R> {
    recipe_step<R, R(const R& x)> gate = [](const R& x) { return sigmoid(x); };
    /// From the gates of the keys that a query sees, the nearest last, to their sums from each on.
    recipe_step<R, std::vector<R>(const std::vector<R>& gates)> sums = suffix_sums<R>;
  };
  template <class R>
  static recipe<R> algorithm(accuracy_class c) {
    recipe<R> how;
    if (c == accuracy_class::linear) how.gate = sigmoid_of_autograd<R>;
    if (c == accuracy_class::cumsum) how.sums = suffix_sums_by_prefix<R>;
    return how;
  }
  template <class R>
  static recipe<R> law(accuracy_class c) {
    recipe<R> how = algorithm<R>(c);
    if (c == accuracy_class::cumsum) how.gate = sigmoid_of_autograd<R>;
    return how;
  }

  /// What of attention has a format of its own besides the stages of its kind; `interpolation` alone of its operation.
  enum class stage { gates = 4, positions, interpolation };

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records() {
    const algorithm_list sums{accuracy_class::sequential, accuracy_class::linear, accuracy_class::cumsum};
    return {query_rows_record<position_rows, R>(positions_declaration(), sums),
            query_rows_record<interpolated_rows, R>(interpolate_declaration()),
            attention_record<heads, R>(attention_declaration(), sums)};
  }

 private:
  static core::operation positions_declaration();
  static core::operation interpolate_declaration();
  static core::operation attention_declaration();

  /// The positions of the keys that a query sees, the nearest last, from the logits of their gates.
  template <class R>
  static std::vector<R> counted(const std::vector<R>& logits, double last, const recipe<R>& how) {
    std::vector<R> gates;
    for (const R& x : logits) gates.push_back(in_stage<R>(stage::gates, how.gate, x));
    const auto positions = [&](const std::vector<R>& open) {
      std::vector<R> p = how.sums(open);
      for (R& x : p) x = clamp(x, -std::numeric_limits<double>::infinity(), last);
      return p;
    };
    return in_stage<R>(stage::positions, positions, gates);
  }

  template <class R>
  struct position_rows {
    using recipe = cope::recipe<R>;
    const field<R>& g;
    const recipe& how;
    bool causal;
    double last;  ///< the last position of the table

    position_rows(const arguments<R>& call, const recipe& steps)
        : g(call["g"]), how(steps), causal(call.template setting<bool>("causal")) {
      const auto positions = static_cast<double>(call.template setting<std::int64_t>("positions"));
      last = positions == 0.0 ? std::numeric_limits<double>::infinity() : positions - 1.0;
    }
    std::vector<std::vector<R>> operator()(std::size_t block, std::size_t i) const {
      const std::size_t n = g.shape(2), m = g.shape(3);
      const R* row = g.data() + (block * n + i) * m;
      std::vector<R> p = counted({row, row + (causal ? keys_seen(i, n, m, true) : m)}, last, how);
      p.resize(m, R(0.0));
      return {std::move(p)};
    }
  };

  template <class R>
  struct interpolated_rows {
    using recipe = cope::recipe<R>;
    const field<R>&p, &z;
    const recipe& how;

    interpolated_rows(const arguments<R>& call, const recipe& steps) : p(call["p"]), z(call["z"]), how(steps) {}
    std::vector<std::vector<R>> operator()(std::size_t block, std::size_t i) const {
      const std::size_t m = p.shape(3), size = z.shape(3), query = block * p.shape(2) + i;
      const interpolated_table<R> table(z.data() + query * size, size, how);
      std::vector<R> b;
      for (std::size_t j = 0; j < m; ++j)
        b.push_back(in_stage<R>(
            interpolation, [&](const R& x) { return table.at(x); }, p.data()[query * m + j]));
      return {std::move(b)};
    }
    static constexpr std::size_t interpolation = 0;
  };

  /// The bias of each head.
  template <class R>
  struct heads {
    using recipe = cope::recipe<R>;
    const recipe& how;
    attention_heads<R> all;
    const field<R>& table;
    bool causal;
    R scale;

    heads(const arguments<R>& call, const recipe& steps)
        : how(steps),
          all(call),
          table(call["table"]),
          causal(call.template setting<bool>("causal")),
          scale(logit_scale<R>(call.template setting<std::string>("position_scale"), table.shape(0))) {}
    [[nodiscard]] std::vector<R> bias(std::size_t row, std::size_t head) const {
      const attention_head<R> of = all.at(row * all.heads() + head);
      std::vector<R> bias;
      for (std::size_t i = 0; i < of.queries; ++i) {
        const std::size_t seen = causal ? keys_seen(i, of.queries, of.keys, true) : of.keys;
        for (const R& b : of_query(of, i, seen)) bias.push_back(b);
        bias.resize((i + 1) * of.keys, R(-std::numeric_limits<double>::infinity()));
      }
      return bias;
    }

   private:
    // A position is at most the number of keys: what is further in the table is not looked up.
    std::vector<R> of_query(const attention_head<R>& of, std::size_t i, std::size_t seen) const {
      const std::size_t all_positions = table.shape(1), size = std::min(all_positions, seen + 1);
      const std::vector<R> p =
          counted(scaled_products(of, i, seen), static_cast<double>(std::max<std::size_t>(all_positions, 1) - 1), how);
      std::vector<R> z;
      for (std::size_t k = 0; k < size; ++k) {
        accumulator<R> product;
        for (std::size_t c = 0; c < of.width; ++c)
          product.add_product(of.q[i * of.width + c], table.data()[c * all_positions + k]);
        z.push_back(total_in(stage::interpolation, product));
      }
      const auto biases = [&](const std::vector<R>& positions, const std::vector<R>& entries) {
        const interpolated_table<R> between(entries.data(), size, how);
        std::vector<R> b;
        for (const R& x : positions) b.push_back(between.at(x));
        return b;
      };
      const auto scaled = [](const R& b, const R& factor) { return factor * b; };
      std::vector<R> bias = in_stage<R>(stage::interpolation, biases, p, z);
      for (R& b : bias) b = in_stage<R>(attention_stage::scores, scaled, b, scale);
      return bias;
    }
  };
};

inline core::operation cope::positions_declaration() {
  return {.name = "cope/positions",
          .source = "Golovneva et al. 2024, arXiv 2405.18719, eqs. (3) and (4)",
          .inputs = {{.name = "g",
                      .axes = {"B", "h", "n", "m"},
                      .meaning = "gate logits, queries by keys; -inf: the gate is closed",
                      .domain = {.minus_infinity = true},
                      .role = core::input_role::logit}},
          // A sum of gates that are all at least 0: nothing cancels.
          .outputs = {{.name = "p",
                       .axes = {"B", "h", "n", "m"},
                       .meaning = "positions of keys, counted from the query",
                       .domain = {.low = 0.0},
                       .scale = core::error_scale::relative}},
          .attributes = {integer("positions", {0, 3, 33}, {.low = 0.0, .high = 0x1p31},
                                 "size of the table of positions; 0: no limit"),
                         flag("causal", true, "keys behind the query have no gate")},
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
  attention.attributes.push_back(choice("position_scale", {"one", "inverse_sqrt"}, "factor of q . table"));
  attention.attributes.push_back(flag("causal", true, "a query sees no key behind its own"));
  attention.stages.push_back({.name = "gates", .meaning = "sigmoid of the logits"});
  attention.stages.push_back({.name = "positions", .meaning = "sums of gates"});
  attention.stages.push_back(interpolate_declaration().stages.front());
  attention.grows_with = core::with_keys;
  attention.independent = {"B", "h"};
  attention.axis_roles = interpolate_declaration().axis_roles;
  return attention;
}

}  // namespace assay::reference::encodings
