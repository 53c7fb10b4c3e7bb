// Definition: the formula with its source (author, title, year, arXiv number, equation). This one is an example, a bias
// of pairs (reference/kinds/pair_bias.hpp) that levels off with the distance t = |i - j|:
//
//   B_hij = -a_h t / (1 + t)
//
// Shapes: a [h]; positions of queries [n] and keys [m]; bias [h, n, m]. `future`: keys after the query are masked, have
// the distance 0, or have their own distance. Special values: 0 at t = 0. A NaN in a gives NaN at every distance, an
// infinite a gives NaN at t = 0.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "reference/kinds/pair_bias.hpp"

namespace assay::reference::encodings {

struct skeleton {
  static constexpr std::string_view name = "skeleton";
  static core::encoding_summary summary() {
    return {.what = "biases that level off with the distance",
            .formula = "B_ij = -a_h |i - j| / (1 + |i - j|)",
            .sources = {{"author year", "https://arxiv.org/abs/0000.00000"}}};
  }

  using traced = formula::traced;
  /// The steps that faults and controls replace. A traced number is an array with elementwise arithmetic
  /// (reference/formula/recording.hpp): computations with it are recorded as a program.
  struct recipe : recorded_recipe<recipe> {
    std::function<traced(const traced& t)> levelled = [](const traced& t) { return t / (traced(1.0) + t); };
  };
  static std::vector<recorded_formula<recipe>> formulas() { return {{declaration(), bias}}; }

 private:
  static core::operation declaration() {
    return of_pairs({.name = "skeleton/bias",
                     .source = "author year, arXiv number, equation",
                     .inputs = with_pair_positions({core::parameter("a", {"h"}, "factor")}),
                     // Only products and quotients; an output with a sum that may cancel declares `absolute`.
                     .outputs = {pair_bias_output(core::error_scale::relative)},
                     .attributes = {future_keys::declared()},
                     .independent = {"h", "n", "m"}});
  }
  /// All heads and pairs at once. Truth, allowance and gradient are made from the program.
  static formula::program bias(const recipe& how, const formula::program_sizes& call) {
    recorded_pairs pairs(call);
    return pairs.finish(-(pairs["a"] * how.levelled(to_real(pairs.distance()))));
  }
};

}  // namespace assay::reference::encodings
