// How d features distinguish 2^d positions by their signs, for the recurrence s_i = LSE(log p_i + s_{i-1}, h_i)
// (Heinsen 2024, eq. (3)) from s_0 = 0.
//
// Two-level theorem (derived here). Let p_i >= p_min = sigmoid(-G), |h_i| <= H and m > 0. Every sequence of signs can
// be reached with |s_i| >= m if and only if p_min e^m + e^-H <= e^-m.
// Proof. Only if: for the signs (+, -), s_1 >= m, so e^{s_2} >= p_min e^m + e^-H, and e^{s_2} <= e^-m is required.
// If: with p_i = p_min the control e^{h_i} = e^{b_i m} - p_min e^{s_{i-1}} gives s_i = b_i m exactly. Because s_{i-1}
// <= m, it is at least e^-m - p_min e^m >= e^-H; it is at most e^m, and m <= H follows from the premise.
//
// Open loop (derived here). h cannot depend on the state if the module computes it from x_i alone. Let p be constant,
// h+ the control for the sign + and h- < h+ that for -, and X = e^s. Every step keeps X <= e^{h+} / (1 - p). After +, X
// >= e^{h+}; after -, X >= e^{h-} and X <= p e^{h+} / (1 - p) + e^{h-}. With logit p = -(2m + ln 2), h+ = m and h- =
// -(m + ln 2), both terms of that last bound are e^-m / 2: the margin is m, for every sequence of signs and every
// length.
#pragma once

#include <cstddef>

#include "reference/readings/reading.hpp"

namespace assay::reference {

/// The largest margin m that the theorem allows: p_min e^m + e^-H = e^-m, solved for e^-m, in logarithms.
/// Tends to -log(p_min) / 2 for H to infinity and to H for G to infinity.
template <class R>
R largest_margin(const R& gate_bound, const R& input_bound) {
  const R two(2.0), half(0.5);
  const R root = half * log_sum_exp(-(two * input_bound), log(R(4.0)) + log_sigmoid(-gate_bound));
  return log(two) - log_sum_exp(-input_bound, root);
}

/// The lowest s_2 after s_1 >= margin that controls inside the bounds allow.
template <class R>
R lowest_after(const R& margin, const R& gate_bound, const R& input_bound) {
  return log_sum_exp(log_sigmoid(-gate_bound) + margin, -input_bound);
}

/// The input h with LSE(log_p + state, h) = target. Precondition: log_p + state < target.
template <class R>
R closed_loop_input(const R& log_p, const R& state, const R& target) {
  return target + log1p(-exp(log_p + state - target));
}

/// Controls that depend only on the wanted sign; p is constant.
struct two_level_controls {
  double gate_logit = 0, h_plus = 0, h_minus = 0;
  [[nodiscard]] double log_p() const;
};

/// The open-loop controls for a margin.
two_level_controls open_loop(double margin);

/// The bands in which the states lie after each sign, if s_0 <= plus_high.
struct sign_bands {
  double plus_low = 0, plus_high = 0, minus_low = 0, minus_high = 0;
  /// The least distance of a state from 0 on its own side; not positive if signs are not kept.
  [[nodiscard]] double margin() const;
};
sign_bands bands_of(double log_p, double h_plus, double h_minus);

/// The sign of digit j of the number i: +1 or -1.
constexpr double counter_sign(std::size_t i, std::size_t j) { return (i >> j) % 2 == 1 ? 1.0 : -1.0; }

}  // namespace assay::reference
