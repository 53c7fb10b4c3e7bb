// The laws of the accuracy classes for directional derivatives: see laws.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "reference/algorithms/forward_derivative.hpp"
#include "reference/algorithms/laws.hpp"

namespace assay::reference {

/// Calls visit(prefixes) for the tree shapes of the tree class.
template <class Element, class Visit>
void for_each_tree_shape(const std::vector<Element>& elements, Visit visit) {
  visit(doubling_prefixes(elements));
  visit(balanced_prefixes(elements));
  visit(chunked_prefixes(elements, 64));
  visit(chunked_prefixes(elements, 16));
}

/// The largest errors of trees over states and derivatives together.
template <class Form>
std::vector<double> errors_of_dual_trees(const_lane<tracked> a, const_lane<tracked> h, const tracked& s0,
                                         scan_direction<tracked> d) {
  std::vector<double> errors(a.size(), 0.0);
  for_each_tree_shape(dual_elements<Form>(a, h, s0, d), [&](const auto& prefixes) {
    for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = std::max(errors[i], prefixes[i + 1].d_input.error);
  });
  return errors;
}
inline void widen(lane<tracked> x, const std::vector<double>& errors) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i].error = std::max(x[i].error, errors[i]);
}

/// The errors of one step after another, and of trees over the recurrence of ds, with the weights from the states `s`.
template <class Form>
void widen_by_recurrence(const_lane<tracked> a, const_lane<tracked> h, const tracked& s0, const_lane<tracked> s,
                         scan_direction<tracked> d, lane<tracked> ds) {
  const std::size_t n = ds.size();
  std::vector<tracked> other(n);
  scan_tangent<Form, tracked>(a, h, s0, s, d, {other.data(), 1, n});
  for (std::size_t i = 0; i < n; ++i) ds[i].error = std::max(ds[i].error, other[i].error);
  for_each_tree_shape(linear_elements<Form>(a, h, s0, s, d), [&](const auto& prefixes) {
    for (std::size_t i = 0; i < n; ++i) ds[i].error = std::max(ds[i].error, prefixes[i + 1].offset.error);
  });
}

/// The larger error of two computations of one number.
inline tracked with_larger_error(const tracked& x, const tracked& y) { return {x.number, std::max(x.error, y.error)}; }

/// The derivative of the cumsum form. dA cancels like A (see inclusive_sum). Its rounding, D = sum |da|, is charged as
/// an error in da: twice per step under the contraction, and ceil(log2(i+1))/2 D where dA is added back. Let N_i = w
/// N_{i-1} + v (|dh_i| + D_i) be the size of dL_i:
///
///   y_i = w (y_{i-1} + E_da + 2 D_i) + E_w N_{i-1} + (E_v + v) (|dh_i| + D_i) + v E_dh + 2 N_i + tau.
inline void widen_by_cumsum_tangent(const_lane<tracked> a, const_lane<tracked> h, const tracked& s0,
                                    scan_direction<tracked> d, lane<tracked> ds) {
  inclusive_sum<tracked> sum;
  tracked state = s0;
  double y = d.s0.error, size = std::fabs(d.s0.number), d_sum = 0;
  bool digits_left = true;
  for (std::size_t i = 0; i < ds.size(); ++i) {
    sum.add(a[i]);
    const tracked past = sum.carry(state), input = sum.enter(h[i]);
    state = log_sum_exp(past, input);
    digits_left = digits_left && tracked::u() * state.error <= 0.125;
    d_sum += std::fabs(d.a[i].number);
    tracked w(is_minus_infinity(past) ? 0.0 : 1.0), v(is_minus_infinity(input) ? 0.0 : 1.0);
    if (w.number != 0.0 && v.number != 0.0) {
      const weight_pair<tracked> by_sigmoid = sigmoid_form::weights(past, input, state);
      const weight_pair<tracked> by_exp = exp_form::weights(past, input, state);
      w = with_larger_error(by_sigmoid.w, by_exp.w);
      v = with_larger_error(by_sigmoid.v, by_exp.v);
    } else if (w.number != 0.0) {
      w = exp_form::weight_alone(past, state);
    }
    const double entering = std::fabs(d.h[i].number) + d_sum;
    const double before = size;
    size = w.number * before + v.number * entering;
    y = propagate(w.number, y + d.a[i].error + 2.0 * d_sum) + propagate(before, w.error) +
        propagate(entering, v.error + v.number) + propagate(v.number, d.h[i].error) + 2.0 * size + tracked::tau();
    const double depth = std::ceil(std::log2(static_cast<double>(i) + 2.0));
    const double error =
        digits_left ? y + std::fabs(ds[i].number) + depth / 2.0 * d_sum : std::numeric_limits<double>::infinity();
    if (!is_minus_infinity(state)) ds[i].error = std::max(ds[i].error, error);
  }
}

/// Where log p + s' and h are both -inf, any finite tangent is right, just as any finite gradient in h is (laws.hpp).
inline void allow_any_tangent_at_dead_positions(const_lane<tracked> s, lane<tracked> ds) {
  for (std::size_t i = 0; i < ds.size(); ++i)
    if (is_minus_infinity(s[i])) ds[i].error = std::numeric_limits<double>::infinity();
}

}  // namespace assay::reference
