// What underflow costs code that holds X = e^s without a shift: X_i = p_i X_{i-1} + e^{h_i}, as much public code does.
//
// Every weight p_i = e^{a_i}, every e^{h_i}, product and quotient loses up to eta, the smallest subnormal, besides what
// rounding loses. The bounds below carry these losses through the recurrence and its derivatives, products of two
// losses included (derived here).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "reference/algorithms/adjoint.hpp"
#include "reference/algorithms/forward_derivative.hpp"
#include "reference/readings/tracked.hpp"

namespace assay::reference {

class unshifted_states {
 public:
  /// Nothing where e^h, e^s0 or X leaves the exponent range of the working format, or where X loses more than its half:
  /// there such code is wrong.
  static std::optional<unshifted_states> within_range(const_lane<tracked> a, const_lane<tracked> h, const tracked& s0,
                                                      const_lane<tracked> s) {
    std::optional<unshifted_states> x = holding(s0);
    for (std::size_t i = 0; x && i < s.size(); ++i)
      if (!x->add(a[i].number, h[i].number, h[i], s[i])) return std::nullopt;
    return x;
  }
  /// No tokens: X = e^s0 alone.
  static std::optional<unshifted_states> holding(const tracked& s0) {
    unshifted_states x;
    return x.add(0.0, -infinity, s0, s0) ? std::optional(x) : std::nullopt;
  }

  /// s_i = log X_i, where X_i has lost the share q_i: q_i X_i = (p_i + eta) q_{i-1} X_{i-1} + eta X_{i-1} + 2 eta, and
  /// -log(1 - q_i) in s_i.
  void widen(lane<tracked> s) const {
    for (std::size_t i = 0; i < s.size(); ++i) s[i].error -= std::log1p(-share_[i + 1]) / tracked::u();
  }

  /// s0 after no tokens: log e^s0.
  void widen_kept(tracked& s) const { s.error -= std::log1p(-share_[0]) / tracked::u(); }
  /// A derivative after no tokens: (x / X) X or (x X) / X. The second loses more.
  void widen_kept_derivative(tracked& x) const {
    if (state_[0] == 0) return;
    const double size = std::fabs(x.number);
    const amount product = amount{size, 0}.times(state_[0], share_[0] * state_[0]);
    const amount back = quotient(size, 0).times(state_[0], share_[0] * state_[0]);
    const double divided = (product.error / state_[0] + share_[0] * size) / (1.0 - share_[0]) + eta();
    add({size, std::max(divided, back.error)}, x);
  }

  /// The adjoint lambda_i = gbar_i / X_i + p_{i+1} lambda_{i+1}, grad_h_i = e^{h_i} lambda_i and grad_a_i =
  /// p_i lambda_i X_{i-1}. With L_i the sum of magnitudes of lambda_i and F_i its error,
  ///   F_i = |gbar_i| / X_i q_i / (1 - q_i) + eta + (p_{i+1} + eta) F_{i+1} + eta L_{i+1} + eta.
  void widen(const_lane<tracked> grad_s, const tracked& grad_last, scan_gradients<tracked> grad) const {
    const std::size_t n = grad_s.size();
    amount handed_back{};  // p_{i+1} lambda_{i+1}
    for (std::size_t i = n; i-- > 0;) {
      const double direct = std::fabs(grad_s[i].number) + (i + 1 == n ? std::fabs(grad_last.number) : 0.0);
      const amount lambda = quotient(direct, i + 1) + handed_back;
      handed_back = lambda.times(weight_[i + 1]);
      add(lambda.times(entering_[i + 1]), grad.h[i]);
      const amount of_a = handed_back.times(state_[i], share_[i] * state_[i]);
      add(of_a, grad.a[i]);
      if (i == 0) add(of_a, grad.s0);
    }
  }

  /// dX_i = p_i (dX_{i-1} + X_{i-1} da_i) + e^{h_i} dh_i and ds_i = dX_i / X_i. Directions enter by magnitude.
  void widen(scan_direction<tracked> d, lane<tracked> ds) const {
    amount derivative = amount{std::fabs(d.s0.number), 0}.times(state_[0], share_[0] * state_[0]);
    for (std::size_t i = 0; i < ds.size(); ++i) {
      const amount entering = amount{std::fabs(d.h[i].number), 0}.times(entering_[i + 1]);
      const amount of_weight = amount{std::fabs(d.a[i].number), 0}.times(state_[i], share_[i] * state_[i]);
      derivative = (derivative + of_weight).times(weight_[i + 1]) + entering;
      if (state_[i + 1] == 0) continue;
      const double q = share_[i + 1], size = std::fabs(ds[i].number);
      add({size, (derivative.error / state_[i + 1] + q * size) / (1.0 - q) + eta()}, ds[i]);
    }
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static double eta() { return core::smallest_subnormal(arithmetic().type); }

  // What vanishes is told from what underflows: 0 alone loses nothing.
  static double not_zero(double x) { return std::max(x, std::numeric_limits<double>::denorm_min()); }
  static double exponential(double x) { return x == -infinity ? 0.0 : not_zero(std::exp(x)); }

  /// A sum of magnitudes, and what it has lost.
  struct amount {
    double size = 0, error = 0;
    friend amount operator+(const amount& x, const amount& y) { return {x.size + y.size, x.error + y.error}; }
    /// Times a factor that has lost `lost`. 0 times anything is 0.
    [[nodiscard]] amount times(double factor, double lost) const {
      if (size == 0 || factor == 0) return {};
      return {not_zero(size * factor), (factor + lost) * error + lost * size + eta()};
    }
    /// Times an exponential.
    [[nodiscard]] amount times(double factor) const { return times(factor, eta()); }
  };

  [[nodiscard]] amount quotient(double x, std::size_t i) const {
    if (x == 0 || state_[i] == 0) return {};
    return {not_zero(x / state_[i]), x / state_[i] * share_[i] / (1.0 - share_[i]) + eta()};
  }
  static void add(const amount& x, tracked& to) {
    if (std::isfinite(x.error)) to.error += x.error / tracked::u();
  }

  // The next X: false where it has no digits, or no exponent.
  bool add(double a, double h, const tracked& input, const tracked& s) {
    const double most = std::log(core::largest_finite(arithmetic().type)), least = std::log(eta());
    for (const double x : {input.number, s.number})
      if (!(x < most) || (x <= least && x != -infinity)) return false;
    const bool first = state_.empty();
    const double p = exponential(a), e = exponential(h), x = exponential(s.number);
    const amount past = first ? amount{} : amount{state_.back(), share_.back() * state_.back()}.times(p);
    const bool enters = first ? x > 0 : e > 0;
    const double share = x > 0 ? (past.error + (enters ? eta() : 0.0)) / x : 0.0;
    weight_.push_back(p);
    entering_.push_back(e);
    state_.push_back(x);
    share_.push_back(share);
    return share <= 0.5;
  }

  std::vector<double> weight_, entering_, state_, share_;  // p, e^h, X and what X has lost, from s_0 on
};

}  // namespace assay::reference
