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
// Shapes: gate logits g, positions p and biases b [B, h, n, m]; z [B, h, n, a], positions 0 to a - 1. Queries are the
// last of the keys: query i stands at key i + m - n, and its own gate counts. `causal`: keys behind it have no gate,
// and p = 0, a constant; else all keys have one. `positions`: the size of the table that p looks into; 0: no limit.
//
// At an integer p the value is unique and the gradient of p is not: published code has 0, as ceil and floor are the
// same; the slopes on either side are z[p + 1] - z[p] and z[p] - z[p - 1]. The truth is 0, and the allowance reaches to
// either slope. Beyond the ends of the table p counts as the end; without a table b is 0.
//
// Special values: the gate of -inf is 0, that of +inf 1; NaN reaches its own key and older ones. Beyond the limit the
// gradient is 0, at the limit that of the sum, as in PyTorch's clamp. Laws: sums from the query back are of class
// sequential; the total less prefix sums is of class cumsum.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "reference/accuracy_class.hpp"
#include "reference/algorithms/suffix_sums.hpp"
#include "reference/kinds/declarations.hpp"
#include "reference/kinds/query_rows.hpp"

namespace assay::reference::encodings {

struct cope {
  static constexpr std::string_view name = "cope";

  /// w u + (1 - w) l; the allowance reading takes what l + w (u - l) may be off by, too.
  template <class R>
  static R between_positions(const R& w, const R& lower, const R& upper) {
    const R mean = w * upper + (R(1.0) - w) * lower;
    if constexpr (carries_derivatives<R>)
      return mean;
    else
      return covering(mean, [&] { return lower + w * (upper - lower); });
  }

  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    recipe_step<R, R(const R& logit)> gate = [](const R& logit) { return sigmoid(logit); };
    /// From the gates of the keys that a query sees, the nearest last, to their sums from each on.
    recipe_step<R, std::vector<R>(const std::vector<R>& gates)> sums = suffix_sums<R>;
    /// The number between two, w of the way from the lower one.
    recipe_step<R, R(const R& w, const R& lower, const R& upper)> between = between_positions<R>;
  };
  template <class R>
  static recipe<R> algorithm(accuracy_class c) {
    recipe<R> how;
    if (c == accuracy_class::cumsum) how.sums = suffix_sums_by_prefix<R>;
    return how;
  }

  /// What of an interpolation has a format of its own.
  enum class stage { interpolation };

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records() {
    return {query_rows_record<position_rows, R>(positions_declaration(),
                                                {accuracy_class::sequential, accuracy_class::cumsum}),
            query_rows_record<interpolated_rows, R>(interpolate_declaration())};
  }

 private:
  static core::operation positions_declaration();
  static core::operation interpolate_declaration();

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
      const std::size_t seen = causal ? keys_seen(i, n, m, true) : m;
      const R* row = g.data() + (block * n + i) * m;
      std::vector<R> gates;
      for (std::size_t j = 0; j < seen; ++j) gates.push_back(how.gate(row[j]));
      std::vector<R> p = how.sums(gates);
      for (R& x : p) x = clamp(x, 0.0, last);
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
      std::vector<R> b;
      for (std::size_t j = 0; j < m; ++j)
        b.push_back(size == 0 ? R(0.0) : at(p.data()[query * m + j], z.data() + query * size, size));
      return {std::move(b)};
    }

   private:
    // Positions are inputs, and exact: so is their floor.
    R at(const R& position, const R* table, std::size_t size) const {
      const double x = to_double(position), last = static_cast<double>(size - 1);
      if (std::isnan(x)) return position;
      const auto entry = [&](double k) -> const R& {
        return table[static_cast<std::size_t>(std::clamp(k, 0.0, last))];
      };
      const double below = std::floor(x);
      const R b = in_stage<R>(
          stage::interpolation,
          [&](const R& p_ij, const R& lower, const R& upper) { return how.between(p_ij - R(below), lower, upper); },
          position, entry(below), entry(std::ceil(x)));
      if constexpr (is_adjoint<R>)
        if constexpr (std::is_same_v<typename R::underlying, tracked>)
          if (x == below) {
            const double back = entry(x).number.number - entry(x - 1).number.number,
                         ahead = entry(x + 1).number.number - entry(x).number.number;
            const double reach = std::max(std::fabs(back), std::fabs(ahead)) / (bug_slack * tracked::u());
            return R::made(b.number, R::along(b), R::by(position, [reach] { return tracked(0.0, reach); }));
          }
      return b;
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
          .grows_with = &core::with_keys,
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

}  // namespace assay::reference::encodings
