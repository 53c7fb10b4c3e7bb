// The derivative along one direction: dual numbers over `value`. Checks the hand-written adjoint.
#pragma once

#include "reference/readings/value.hpp"

namespace assay::reference {

struct tangent {
  value number, derivative;

  tangent() = default;
  explicit tangent(double x) : number(x) {}
  explicit tangent(value x, value d = value(0.0)) : number(std::move(x)), derivative(std::move(d)) {}

  friend tangent operator+(const tangent& x, const tangent& y) {
    return tangent(x.number + y.number, x.derivative + y.derivative);
  }
  friend tangent operator-(const tangent& x, const tangent& y) {
    return tangent(x.number - y.number, x.derivative - y.derivative);
  }
  friend tangent operator*(const tangent& x, const tangent& y) {
    return tangent(x.number * y.number, x.derivative * y.number + x.number * y.derivative);
  }
  friend tangent operator/(const tangent& x, const tangent& y) {
    const value r = x.number / y.number;
    return tangent(r, (x.derivative - r * y.derivative) / y.number);
  }
  friend tangent operator-(const tangent& x) { return tangent(-x.number, -x.derivative); }

  friend double to_double(const tangent& x) { return x.number.to_double(); }
  friend bool is_minus_infinity(const tangent& x) { return is_minus_infinity(x.number); }
  friend tangent larger(const tangent& x, const tangent& y) { return x.number.number < y.number.number ? y : x; }
  friend boost::tribool less(const tangent& x, const tangent& y) { return less(x.number, y.number); }
  friend tangent either(boost::tribool condition, const tangent& x, const tangent& y) { return condition ? x : y; }
  /// 0, also at the jumps.
  friend tangent floor(const tangent& x) { return tangent(floor(x.number)); }
  /// At the limits x itself: the subgradient 1, as in PyTorch's clamp.
  friend tangent clamp(const tangent& x, double low, double high) {
    return x.number.number < low || x.number.number > high ? tangent(clamp(x.number, low, high)) : x;
  }
  friend tangent exp(const tangent& x) {
    const value r = exp(x.number);
    return tangent(r, r * x.derivative);
  }
  friend tangent log(const tangent& x) { return tangent(log(x.number), x.derivative / x.number); }
  friend tangent sin(const tangent& x) { return tangent(sin(x.number), cos(x.number) * x.derivative); }
  friend tangent cos(const tangent& x) { return tangent(cos(x.number), -sin(x.number) * x.derivative); }
  /// (1 - cos x) / x = 2 sin^2(x / 2) / x
  friend tangent entire_cosine_integral(const tangent& x) {
    const value r = entire_cosine_integral(x.number), half = sin(x.number / value(2.0));
    if (x.number.number == 0) return tangent(r, value(0.0));
    return tangent(r, value(2.0) * half * half / x.number * x.derivative);
  }
  friend tangent power(const tangent& x, rational e) {
    const value r = power(x.number, e);
    return tangent(r,
                   value(static_cast<double>(e.p)) * r / (value(static_cast<double>(e.q)) * x.number) * x.derivative);
  }
  friend tangent softplus(const tangent& x) { return tangent(softplus(x.number), sigmoid(x.number) * x.derivative); }
  friend tangent log_sigmoid(const tangent& g) {
    return tangent(log_sigmoid(g.number), sigmoid(-g.number) * g.derivative);
  }
  friend tangent sigmoid(const tangent& z) {
    const value w = sigmoid(z.number), v = sigmoid(-z.number);
    return tangent(w, w * v * z.derivative);
  }
  friend weight_pair<tangent> carry_weights(const tangent& z) { return {sigmoid(z), sigmoid(-z)}; }
  /// ds = w dt + v dh, with the derivative 0 of a branch that is -inf.
  friend tangent log_sum_exp(const tangent& t, const tangent& h) {
    if (is_minus_infinity(t)) return h;
    if (is_minus_infinity(h)) return t;
    const weight_pair<value> weight = carry_weights(t.number - h.number);
    return tangent(log_sum_exp(t.number, h.number), weight.w * t.derivative + weight.v * h.derivative);
  }
};

}  // namespace assay::reference
