// Definition: the formula with its source (author, title, year, arXiv number, equation). This one is an example, a bias
// of pairs (reference/kinds/pair_bias.hpp) that levels off with the distance t = |i - j|:
//
//   B_hij = -a_h t / (1 + t)
//
// Shapes: a [h]; positions of queries [n] and keys [m]; bias [h, n, m]. `future`: keys after the query are masked,
// stand at the distance 0, or at their own distance. Special values: 0 at t = 0. A NaN in a gives NaN at every
// distance, an infinite a NaN at t = 0.
#pragma once

#include <string_view>

#include "reference/kinds/pair_bias.hpp"

namespace assay::reference::encodings {

struct skeleton {
  static constexpr std::string_view name = "skeleton";
  static core::encoding_summary summary() {
    return {.what = "biases that level off with the distance",
            .formula = "B_ij = -a_h |i - j| / (1 + |i - j|)",
            .sources = {{"author year", "https://arxiv.org/abs/0000.00000"}}};
  }

  /// The steps that faults and controls replace. R is a number type (reference/readings/reading.hpp): multiprecision,
  /// an interval, a number with its error bound, a dual number, a number of the gradient's graph.
  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    recipe_step<R, R(const R& t)> levelled = [](const R& t) { return t / (R(1.0) + t); };
  };

  static core::operation declaration() {
    return {.name = "skeleton/bias",
            .source = "author year, arXiv number, equation",
            .inputs = with_pair_positions({core::parameter("a", {"h"}, "factor")}),
            // Products and quotients; a sum that may cancel declares absolute.
            .outputs = {pair_bias_output(core::error_scale::relative)},
            .attributes = {future_keys::declared()},
            .independent = {"h", "n", "m"}};
  }

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records() {
    return {pair_bias_record<pairs, R>(declaration())};
  }

 private:
  /// The bias of one head and one pair. Loops and the gradient are the kind's.
  struct formula {
    template <class R>
    static R of(const head_of_pair<R>& p, const recipe<R>& how) {
      return -(p["a"] * how.levelled(from_integer<R>(p.at.distance)));
    }
  };
  template <class R>
  using pairs = pairs_by_head<skeleton, formula, R>;
};

}  // namespace assay::reference::encodings
