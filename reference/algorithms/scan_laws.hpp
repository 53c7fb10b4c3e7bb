// The laws of the recurrence and its derivatives for all classes of one call.
//
// The law of a class is the largest allowance of its own algorithms and those of the classes before it. So a class only
// adds its own algorithms, and every algorithm is read once.
#pragma once

#include <vector>

#include "reference/algorithms/forward_derivative_laws.hpp"
#include "reference/algorithms/laws.hpp"

namespace assay::reference {

/// Lanes come in the same order, with the same inputs, for every class; scan comes before adjoint and tangent. Each
/// function writes the result of the class for the lane.
class scan_laws {
 public:
  /// Starts the next class, in ascending order. The lanes begin again.
  void begin(accuracy_class c) {
    class_ = c;
    scanned_ = pulled_ = pushed_ = 0;
  }

  void scan(const_lane<tracked> a, const_lane<tracked> h, const tracked& s0, lane<tracked> s) {
    if (scanned_ == lanes_.size()) lanes_.emplace_back();
    one_lane& here = lanes_[scanned_++];
    const std::size_t n = s.size();
    if (here.reached == accuracy_class::uniform) {
      here.states.resize(n);
      sequential_scan<tracked>(a, h, s0, {here.states.data(), 1, n});
      here.reached = accuracy_class::sequential;
    }
    ASSAY_EXPECTS(here.states.size() == n && here.reached <= class_);
    for (const accuracy_class c : accuracy_classes) {
      if (c <= here.reached || c > class_) continue;
      widen_by_scans(c, a, h, s0, {here.states.data(), 1, n});
      if (c == accuracy_class::linear) here.linear_states = here.states;
    }
    here.reached = class_;
    for (std::size_t i = 0; i < n; ++i) s[i] = here.states[i];
  }

  /// The state after no tokens: s0 itself, or log e^s0 for code that holds X = e^s.
  [[nodiscard]] tracked state_kept(const tracked& s0) const {
    if (class_ < accuracy_class::linear || !std::isfinite(s0.number)) return s0;
    tracked s = log(exp(s0));
    s.number = s0.number;
    if (const auto x = unshifted_states::holding(s0)) x->widen_kept(s);
    return s;
  }
  /// The tangent of that state: the tangent of s0, or (X ds0) / X.
  [[nodiscard]] tracked tangent_kept(const tracked& s0, const tracked& tangent_s0) const {
    if (class_ < accuracy_class::linear || !std::isfinite(s0.number)) return tangent_s0;
    tracked ds = tangent_s0;
    ds.error += 2 * std::fabs(tangent_s0.number);
    if (const auto x = unshifted_states::holding(s0)) x->widen_kept_derivative(ds);
    return ds;
  }

  /// `s` holds the states of scan(). Cotangents enter by magnitude.
  void adjoint(const_lane<tracked> a, const_lane<tracked> h, const tracked& s0, const_lane<tracked> s,
               const_lane<tracked> grad_s, const tracked& grad_last, scan_gradients<tracked> grad) {
    ASSAY_EXPECTS(pulled_ < lanes_.size());
    one_lane& here = lanes_[pulled_++];
    if (class_ <= accuracy_class::tree) {
      scan_adjoint<sigmoid_form, tracked>(a, h, s0, s, grad_s, grad_last, grad);
    } else {
      const std::size_t n = s.size();
      if (!here.has_linear_gradients) {
        here.grad_a.resize(n);
        here.grad_h.resize(n);
        linear_adjoint(a, h, s0, {here.linear_states.data(), 1, n}, grad_s, grad_last,
                       {{here.grad_a.data(), 1, n}, {here.grad_h.data(), 1, n}, here.grad_s0});
        here.has_linear_gradients = true;
      }
      for (std::size_t i = 0; i < n; ++i) {
        grad.a[i] = here.grad_a[i];
        grad.h[i] = here.grad_h[i];
      }
      grad.s0 = here.grad_s0;
      if (class_ == accuracy_class::cumsum && tokens_with_cumsum_form(a) == n)
        widen_by_cumsum_autograd(a, h, s0, grad_s, grad_last, grad);
    }
    allow_any_gradient_at_dead_positions(a, h, s0, s, grad);
  }

  /// `s` holds the states of scan(). Directions enter by magnitude.
  void tangent(const_lane<tracked> a, const_lane<tracked> h, const tracked& s0, const_lane<tracked> s,
               scan_direction<tracked> d, lane<tracked> ds) {
    ASSAY_EXPECTS(pushed_ < lanes_.size());
    one_lane& here = lanes_[pushed_++];
    if (class_ == accuracy_class::sequential)
      scan_tangent<sigmoid_form, tracked>(a, h, s0, s, d, ds);
    else if (class_ == accuracy_class::tree)
      tree_tangent(here, a, h, s0, s, d, ds);
    else
      linear_tangent(here, a, h, s0, d, ds);
    if (class_ == accuracy_class::cumsum && tokens_with_cumsum_form(a) == ds.size())
      widen_by_cumsum_tangent(a, h, s0, d, ds);
    allow_any_tangent_at_dead_positions(s, ds);
  }

 private:
  struct one_lane {
    accuracy_class reached = accuracy_class::uniform;
    std::vector<tracked> states;         ///< of the class that is reached
    std::vector<tracked> linear_states;  ///< of class linear, once it is reached
    bool has_linear_gradients = false;
    std::vector<tracked> grad_a, grad_h;  ///< gradients of class linear
    tracked grad_s0;
    std::vector<double> dual_trees;  ///< errors of the sigmoid form, from class tree on
    std::vector<tracked> linear_ds;
  };

  static void tree_tangent(one_lane& here, const_lane<tracked> a, const_lane<tracked> h, const tracked& s0,
                           const_lane<tracked> states, scan_direction<tracked> d, lane<tracked> ds) {
    scan_tangent<sigmoid_form, tracked>(a, h, s0, states, d, ds);
    widen_by_recurrence<sigmoid_form>(a, h, s0, states, d, ds);
    if (here.dual_trees.empty()) here.dual_trees = errors_of_dual_trees<sigmoid_form>(a, h, s0, d);
    widen(ds, here.dual_trees);
  }

  // The derivative of the cumsum form reads no states of its own; all others are bounded by linear ones.
  static void linear_tangent(one_lane& here, const_lane<tracked> a, const_lane<tracked> h, const tracked& s0,
                             scan_direction<tracked> d, lane<tracked> ds) {
    const std::size_t n = ds.size();
    if (here.linear_ds.empty()) {
      here.linear_ds.resize(n);
      const lane<tracked> all{here.linear_ds.data(), 1, n};
      const const_lane<tracked> states{here.linear_states.data(), 1, n};
      tree_tangent(here, a, h, s0, states, d, all);
      widen_by_recurrence<exp_form>(a, h, s0, states, d, all);
      widen(all, errors_of_dual_trees<exp_form>(a, h, s0, d));
      if (const auto x = unshifted_states::within_range(a, h, s0, states)) x->widen(d, all);
    }
    for (std::size_t i = 0; i < n; ++i) ds[i] = here.linear_ds[i];
  }

  accuracy_class class_ = accuracy_class::sequential;
  std::vector<one_lane> lanes_;
  std::size_t scanned_ = 0, pulled_ = 0, pushed_ = 0;
};

}  // namespace assay::reference
