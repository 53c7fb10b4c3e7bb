// A lane with cotangents, for the tests of gradients.
#pragma once

#include <utility>

#include "reference/tests/lane_calculus.hpp"

namespace assay::reference::testing {

/// One lane with cotangents, its states, weights and gradient.
struct graded_lane {
  value_lane x;
  std::vector<value> grad_s, s;
  value grad_last;
  std::vector<weight_pair<value>> weights;
  value_vector grad;

  graded_lane(const value_lane& lane, std::vector<value> cotangents, const value& last)
      : x(lane),
        grad_s(std::move(cotangents)),
        s(states_of(x)),
        grad_last(last),
        weights(weights_of(x, s)),
        grad(gradient_of(x, grad_s, grad_last)) {}

  /// The adjoint of each state i, with all that it passes to its own inputs: lambda_i = gbar_i + w_{i+1} lambda_{i+1}.
  [[nodiscard]] std::vector<value> adjoints() const {
    std::vector<value> lambda(x.size());
    value carry = grad_last;
    for (std::size_t i = x.size(); i-- > 0;) {
      lambda[i] = grad_s[i] + carry;
      carry = weights[i].w * lambda[i];
    }
    return lambda;
  }
};

/// Calls check(graded lane) for every filling, and for some lengths and seeds.
template <class Check>
void for_graded_lanes(Check check) {
  for (const filling f : fillings)
    for (const std::size_t n : {1u, 2u, 9u, 30u})
      for (std::uint64_t seed = 0; seed < scaled(3); ++seed) {
        core::counter_random random(seed + 300);
        const value_lane x = make_lane(f, n, seed);
        INFO(x.name);
        const auto grad_s = random_values(n, random);
        check(graded_lane(x, grad_s, value(random.normal())));
      }
}

/// Whether state i (0-based) is -inf: nothing passes through it.
inline bool is_dead(const graded_lane& g, std::size_t i) { return is_minus_infinity(g.s[i]); }

}  // namespace assay::reference::testing
