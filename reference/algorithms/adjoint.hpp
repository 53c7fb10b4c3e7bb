// The adjoint of the log-linear recurrence, hand-written, for every reading.
//
// With cotangents gbar_i of s_i: lambda_n = gbar_n, lambda_i = gbar_i + w_{i+1} lambda_{i+1}, and
//   d/d log p_i = w_i lambda_i,   d/d h_i = v_i lambda_i,   d/d s_0 = w_1 lambda_1,
// where w_i = exp(a_i + s_{i-1} - s_i) is the carry weight, and v_i = exp(h_i - s_i) = 1 - w_i.
//
// Where a state is -inf: s_i = -inf -> every contribution through token i is 0; h_i = -inf, s_i finite ->
// w_i = 1, v_i = 0; a_i + s_{i-1} = -inf, h_i finite -> w_i = 0, v_i = 1.
#pragma once

#include <limits>
#include <vector>

#include "reference/readings/reading.hpp"

namespace assay::reference {

/// w = sigmoid(z) and v = sigmoid(-z), not 1 - w, with z = a + s' - h; s' is the state before.
struct sigmoid_form {
  template <class R>
  static weight_pair<R> weights(const R& t, const R& h, const R&) {
    return carry_weights(t - h);
  }
  template <class R>
  static R keep(const R& x) {
    return x;
  }
  /// w, and w x, where h is -inf and so z is +inf.
  template <class R>
  static R weight_alone(const R&, const R&) {
    return R(1.0);
  }
  template <class R>
  static R weighted_alone(const R& x, const R&, const R&) {
    return x;
  }
};

/// w = exp(a + s' - s), v = exp(h - s), and the adjoint itself is stored as a logarithm. Automatic differentiation of
/// log-domain code works like this. Each rounding of log x costs |log x| times as much as one of x.
struct exp_form {
  template <class R>
  static weight_pair<R> weights(const R& t, const R& h, const R& s) {
    return {exp(t - s), exp(h - s)};
  }
  template <class R>
  static R keep(const R& x) {
    return stored_as_logarithm(x);
  }
  /// Where h is -inf, s is a + s' apart from the rounding of the states: the states of chunks and trees are no sums of
  /// the states before them.
  template <class R>
  static R weight_alone(const R& t, const R& s) {
    return exp_of_roundings(t - s);
  }
  template <class R>
  static R weighted_alone(const R& x, const R& t, const R& s) {
    return keep(weight_alone(t, s) * x);
  }
};

template <class R>
struct scan_gradients {
  lane<R> a, h;
  R& s0;
};

/// Inputs are a[n], h[n], s0, the states s[n], and cotangents of s[n] and of the last state. Writes the gradients.
template <class Form, class R>
void scan_adjoint(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                  const R& grad_last, scan_gradients<R> grad) {
  R carry = by_magnitude(grad_last);
  for (std::size_t i = s.size(); i-- > 0;) {
    const R lambda = Form::keep(by_magnitude(grad_s[i]) + carry);
    const R t = a[i] + (i == 0 ? s0 : s[i - 1]);
    const bool no_past = is_minus_infinity(t), no_input = is_minus_infinity(h[i]);
    if (no_past || no_input) {
      grad.a[i] = no_past ? R(0.0) : Form::weighted_alone(lambda, t, R(s[i]));
      grad.h[i] = no_input ? R(0.0) : lambda;
    } else {
      const weight_pair<R> weight = Form::weights(t, h[i], R(s[i]));
      grad.a[i] = Form::keep(weight.w * lambda);
      grad.h[i] = Form::keep(weight.v * lambda);
    }
    carry = grad.a[i];
  }
  grad.s0 = carry;
}

/// The adjoint by automatic differentiation of the cumsum form. With L_i = s_i - A_i, the gradients in h and s_0 are
/// reverse cumulative log-sum-exps of log|gbar_k| - L_k, separately for positive and negative cotangents. The gradient
/// in a is a suffix sum of gbar - grad_h, which cancels where w is small.
template <class R>
void cumsum_adjoint(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R>, const_lane<R> grad_s,
                    const R& grad_last, scan_gradients<R> grad) {
  const std::size_t n = grad_s.size();
  inclusive_sum<R> sum;
  std::vector<R> input(n), relative(n);
  for (std::size_t i = 0; i < n; ++i) {
    sum.add(a[i]);
    input[i] = sum.enter(h[i]);
    relative[i] = log_sum_exp(sum.carry(i == 0 ? s0 : relative[i - 1]), input[i]);
  }
  const R none(-std::numeric_limits<double>::infinity());
  R positive = none, negative = none, suffix(0.0);
  for (std::size_t i = n; i-- > 0;) {
    const R direct = i + 1 == n ? grad_s[i] + grad_last : grad_s[i];
    if (is_positive(direct)) positive = log_sum_exp(positive, log(direct) - relative[i]);
    if (is_positive(-direct)) negative = log_sum_exp(negative, log(-direct) - relative[i]);
    grad.h[i] = exp(positive + input[i]) - exp(negative + input[i]);
    suffix = suffix + (direct - grad.h[i]);
    grad.a[i] = suffix;
  }
  grad.s0 = n == 0 ? grad_last : exp(positive + s0) - exp(negative + s0);
}

}  // namespace assay::reference
