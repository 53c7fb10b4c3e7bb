// Contextual positions (Golovneva, Wang, Weston and Sukhbaatar, "Contextual Position Encoding: Learning to Count What's
// Important", 2024, arXiv 2405.18719): the distance of a key is the number of gates that are open between it and the
// query,
//
//   p_ij = min(sum_{j <= l <= i} sigmoid(g_il), positions - 1)                                       eqs. (3) and (4)
//
// Shapes: gate logits g and positions p [B, h, n, m]. Queries are the last of the keys: query i stands at key i + m -
// n, and its own gate counts. `causal`: keys behind it have no gate, and p = 0, a constant; else all keys have one.
// `positions`: the size of the table that p looks into; 0: no limit.
//
// Special values: the gate of -inf is 0, that of +inf 1; NaN reaches its own key and older ones. Beyond the limit the
// gradient is 0, at the limit that of the sum, as in PyTorch's clamp. Laws: sums from the query back are of class
// sequential; the total less prefix sums is of class cumsum.
#pragma once

#include <algorithm>
#include <limits>
#include <string_view>

#include "reference/algorithms/suffix_sums.hpp"
#include "reference/kinds/declarations.hpp"
#include "reference/kinds/query_rows.hpp"

namespace assay::reference::encodings {

struct cope {
  static constexpr std::string_view name = "cope";

  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    recipe_step<R, R(const R& logit)> gate = [](const R& logit) { return sigmoid(logit); };
    /// From the gates of the keys that a query sees, the nearest last, to their sums from each on.
    recipe_step<R, std::vector<R>(const std::vector<R>& gates)> sums = suffix_sums<R>;
  };
  template <class R>
  static recipe<R> algorithm(accuracy_class c) {
    recipe<R> how;
    if (c == accuracy_class::cumsum) how.sums = suffix_sums_by_prefix<R>;
    return how;
  }

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records() {
    return {query_rows_record<position_rows, R>(positions_declaration(),
                                                {accuracy_class::sequential, accuracy_class::cumsum})};
  }

 private:
  static core::operation positions_declaration();

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
      const std::size_t seen = !causal ? m : i + m + 1 > n ? std::min(i + m + 1 - n, m) : 0;
      const R* row = g.data() + (block * n + i) * m;
      std::vector<R> gates;
      for (std::size_t j = 0; j < seen; ++j) gates.push_back(how.gate(row[j]));
      std::vector<R> p = how.sums(gates);
      for (R& x : p) x = clamp(x, 0.0, last);
      p.resize(m, R(0.0));
      return {std::move(p)};
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
          .independent = {"B", "h"}};
}

}  // namespace assay::reference::encodings
