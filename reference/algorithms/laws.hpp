// The laws of the accuracy classes: the allowance reading of the algorithms that define each class.
//
// A class is a set of algorithms that a correct implementation may use. Its law, at each element, is the largest
// allowance among these algorithms and those of the classes before it. So the classes are nested, and an error that the
// last law does not explain is a bug.
#pragma once

#include <vector>

#include "reference/accuracy_class.hpp"
#include "reference/algorithms/adjoint.hpp"
#include "reference/algorithms/scans.hpp"
#include "reference/algorithms/unshifted_states.hpp"
#include "reference/readings/tracked.hpp"

namespace assay::reference {

using scan_algorithm = void (*)(const_lane<tracked>, const_lane<tracked>, const tracked&, lane<tracked>);

/// The algorithms that a class adds to those before it. One tree shape is not enough: each shape brackets sums of log p
/// in its own way.
inline std::vector<scan_algorithm> algorithms_new_in(accuracy_class c) {
  switch (c) {
    case accuracy_class::sequential:
      return {sequential_scan<tracked>};
    case accuracy_class::tree:
      return {doubling_tree_scan<tracked>, balanced_tree_scan<tracked>, chunked_tree_scan<64, tracked>,
              chunked_tree_scan<16, tracked>};
    case accuracy_class::linear:
      return {linear_scan<tracked>};
    case accuracy_class::cumsum:
      return {cumsum_scan<tracked>};
    case accuracy_class::uniform:
      break;
  }
  return {};
}

/// The number of tokens for which the cumsum form has an answer: those before the first one whose a is not finite.
inline std::size_t tokens_with_cumsum_form(const_lane<tracked> a) {
  std::size_t i = 0;
  while (i < a.size() && std::isfinite(a[i].number)) ++i;
  return i;
}

/// Raises the errors of the states to those of the algorithms that the class adds.
inline void widen_by_scans(accuracy_class c, const_lane<tracked> a, const_lane<tracked> h, const tracked& s0,
                           lane<tracked> s) {
  const std::size_t n = s.size();
  std::vector<tracked> other(n);
  for (const auto algorithm : algorithms_new_in(c)) {
    algorithm(a, h, s0, {other.data(), 1, n});
    const std::size_t applies = algorithm == cumsum_scan<tracked> ? tokens_with_cumsum_form(a) : n;
    for (std::size_t i = 0; i < applies; ++i) s[i].error = std::max(s[i].error, other[i].error);
  }
  if (c != accuracy_class::linear) return;
  if (const auto x = unshifted_states::within_range(a, h, s0, s)) x->widen(s);
}

/// Automatic differentiation of the cumsum form. The adjoint of logcumsumexp runs in the log domain on quantities of
/// the size of |A|; the gradient in a is a suffix sum, which does not contract. Widens `grad`.
///
///   y_k = G (q + |L| + |log G| + |log G - L| + C_l) + w_{k+1} y_{k+1} + lambda_k (R + 0.3 + C_e + C_l),
///   R = |log lambda_k - L_k|; 0.3 bounds the rounding of a log-sum-exp's difference, max |z| min(w, v).
///
/// y_k is the error of lambda_k, apart from the inherited error of G = |gbar_k|. L_k = s_k - A_k has the error q. C_l
/// and C_e are the errors of log and exp. All errors are in units of u.
inline void widen_by_cumsum_autograd(const_lane<tracked> a, const_lane<tracked> h, const tracked& s0,
                                     const_lane<tracked> grad_s, const tracked& grad_last,
                                     scan_gradients<tracked> grad) {
  const std::size_t n = grad_s.size();
  const auto log_magnitude = [](double x) { return finite_magnitude(std::log(x)); };
  std::vector<tracked> relative(n);  // L, with q
  std::vector<double> sums(n), states(n);
  inclusive_sum<tracked> sum;
  tracked state = s0;
  bool digits_left = true;
  for (std::size_t i = 0; i < n; ++i) {
    sum.add(a[i]);
    state = relative[i] = log_sum_exp(sum.carry(state), sum.enter(h[i]));
    sums[i] = sum.total();
    states[i] = state.number + sums[i];
    digits_left = digits_left && tracked::u() * state.error <= 0.125;
  }
  double carried_error = 0, carried = std::fabs(grad_last.number), suffix = 0, first_error = 0;
  for (std::size_t i = n; i-- > 0;) {
    const double l = relative[i].number, q = relative[i].error;
    const double direct = std::fabs(grad_s[i].number) + (i + 1 == n ? std::fabs(grad_last.number) : 0.0);
    const double lambda = std::fabs(grad_s[i].number) + carried;
    const double log_lambda = std::log(lambda), r = finite_magnitude(log_lambda - l);
    const double previous = i == 0 ? s0.number : states[i - 1];
    const log_sum_exp_parts p(a[i].number + previous, h[i].number);
    const double y = (direct == 0.0 ? 0.0
                                    : direct * (q + finite_magnitude(l) + log_magnitude(direct) +
                                                finite_magnitude(std::log(direct) - l) + accuracy::log)) +
                     carried_error + lambda * (r + 0.3 + accuracy::exp + accuracy::log) + grad_s[i].error;
    const double v = std::isfinite(h[i].number) ? p.v : 0.0, w = std::isfinite(h[i].number) ? p.w : 1.0;
    const double error_h =
        propagate(v, y + lambda * (finite_magnitude(h[i].number - sums[i]) + 2 * finite_magnitude(sums[i]) + r +
                                   log_magnitude(v * lambda) + accuracy::exp + q + 1.0));
    suffix += error_h + direct + (v + w) * lambda;
    carried_error = w * y;
    carried = w * lambda;
    first_error = r + q;
    const double unbounded = std::numeric_limits<double>::infinity();
    grad.h[i].error = std::max(grad.h[i].error, digits_left ? error_h + tracked::tau() : unbounded);
    grad.a[i].error = std::max(grad.a[i].error, digits_left ? suffix + tracked::tau() : unbounded);
  }
  if (n == 0) {
    // There is one input alone, s0: exp((log |g| - s0) + s0).
    const double g = std::fabs(grad_last.number), size = log_magnitude(g);
    const double rounded = 2 * size + finite_magnitude(std::log(g) - s0.number) + accuracy::log + accuracy::exp;
    if (g > 0 && std::isfinite(s0.number))
      grad.s0.error = std::max(grad.s0.error, propagate(g, rounded) + tracked::tau());
    return;
  }
  // s0 is the first input of the logcumsumexp: its gradient is exp(r + s0), and the suffix sum does not contain it.
  const double error_s0 =
      carried_error + propagate(carried, first_error + log_magnitude(carried) + accuracy::exp + 1.0);
  grad.s0.error = std::max({grad.s0.error, grad.a[0].error, error_s0 + tracked::tau()});
}

/// Gradients with the allowance of the classes up to linear, from the states of that law. They bound all adjoints,
/// except that of the cumsum form, which reads no states of its own.
inline void linear_adjoint(const_lane<tracked> a, const_lane<tracked> h, const tracked& s0, const_lane<tracked> states,
                           const_lane<tracked> grad_s, const tracked& grad_last, scan_gradients<tracked> grad) {
  const std::size_t n = states.size();
  std::vector<tracked> errors_of_a(n), errors_of_h(n);
  tracked error_of_s0;
  scan_adjoint<sigmoid_form, tracked>(a, h, s0, states, grad_s, grad_last, grad);
  scan_adjoint<exp_form, tracked>(a, h, s0, states, grad_s, grad_last,
                                  {{errors_of_a.data(), 1, n}, {errors_of_h.data(), 1, n}, error_of_s0});
  for (std::size_t i = 0; i < n; ++i) {
    grad.a[i].error = std::max(grad.a[i].error, errors_of_a[i].error);
    grad.h[i].error = std::max(grad.h[i].error, errors_of_h[i].error);
  }
  grad.s0.error = std::max(grad.s0.error, error_of_s0.error);
  const auto x = unshifted_states::within_range(a, h, s0, states);
  if (n == 0 && std::isfinite(s0.number)) {  // (g / X) X
    grad.s0.error += 2 * std::fabs(grad_last.number);
    if (x) x->widen_kept_derivative(grad.s0);
  } else if (x) {
    x->widen(grad_s, grad_last, grad);
  }
}

/// Where log p + s' and h are both -inf, any finite gradient in h is right.
inline void allow_any_gradient_at_dead_positions(const_lane<tracked> a, const_lane<tracked> h, const tracked& s0,
                                                 const_lane<tracked> s, scan_gradients<tracked> grad) {
  for (std::size_t i = 0; i < s.size(); ++i)
    if (is_minus_infinity(h[i]) && is_minus_infinity(tracked(a[i].number + (i == 0 ? s0 : s[i - 1]).number)))
      grad.h[i].error = std::numeric_limits<double>::infinity();
}

}  // namespace assay::reference
