// Numbers that carry derivatives: their arithmetic and their primitives, each with its exact partial derivatives,
// written once. Dual numbers (tangent.hpp) are such numbers.
//
// Such a number D has a `number` of the reading that it differentiates, D::underlying, and D::made(r, parts...), which
// makes the result r of a function. A part is what one operand x contributes to the derivative of r: its own derivative
// times the slope of r in x. D::along(x) has the slope 1; D::against(x), -1; D::by(x, f), f(); D::over(x, f), 1 / f().
//
// A branch that depends on a comparison has the slopes of the branch that is taken.
#pragma once

#include "reference/readings/reading.hpp"

namespace assay::reference {

template <class D>
concept carries_derivatives = requires(const D& x) {
  typename D::underlying;
  D::along(x);
};

template <carries_derivatives D>
D operator+(const D& x, const D& y) {
  return D::made(x.number + y.number, D::along(x), D::along(y));
}
template <carries_derivatives D>
D operator-(const D& x, const D& y) {
  return D::made(x.number - y.number, D::along(x), D::against(y));
}
template <carries_derivatives D>
D operator-(const D& x) {
  return D::made(-x.number, D::against(x));
}
template <carries_derivatives D>
D operator*(const D& x, const D& y) {
  return D::made(x.number * y.number, D::by(x, [&] { return y.number; }), D::by(y, [&] { return x.number; }));
}
template <carries_derivatives D>
D operator/(const D& x, const D& y) {
  const auto r = x.number / y.number;
  return D::made(r, D::over(x, [&] { return y.number; }), D::by(y, [&] { return -(r / y.number); }));
}

template <carries_derivatives D>
double to_double(const D& x) {
  return to_double(x.number);
}
template <carries_derivatives D>
bool is_minus_infinity(const D& x) {
  return is_minus_infinity(x.number);
}

template <carries_derivatives D>
D exp(const D& x) {
  const auto r = exp(x.number);
  return D::made(r, D::by(x, [&] { return r; }));
}
template <carries_derivatives D>
D log(const D& x) {
  return D::made(log(x.number), D::over(x, [&] { return x.number; }));
}
template <carries_derivatives D>
D log1p(const D& x) {
  using R = typename D::underlying;
  return D::made(log1p(x.number), D::over(x, [&] { return R(1.0) + x.number; }));
}
template <carries_derivatives D>
D sin(const D& x) {
  return D::made(sin(x.number), D::by(x, [&] { return cos(x.number); }));
}
template <carries_derivatives D>
D cos(const D& x) {
  return D::made(cos(x.number), D::by(x, [&] { return -sin(x.number); }));
}

template <carries_derivatives D>
weight_pair<D> carry_weights(const D& z) {
  const auto weight = carry_weights(z.number);
  const auto slope = [&] { return weight.w * weight.v; };
  return {D::made(weight.w, D::by(z, slope)), D::made(weight.v, D::by(z, [&] { return -slope(); }))};
}
template <carries_derivatives D>
D sigmoid(const D& z) {
  const auto w = sigmoid(z.number);
  return D::made(w, D::by(z, [&] { return w * sigmoid(-z.number); }));
}
template <carries_derivatives D>
D softplus(const D& x) {
  return D::made(softplus(x.number), D::by(x, [&] { return sigmoid(x.number); }));
}
template <carries_derivatives D>
D log_sigmoid(const D& g) {
  return D::made(log_sigmoid(g.number), D::by(g, [&] { return sigmoid(-g.number); }));
}
/// A branch that is -inf is a dead end: the result is the other branch.
template <carries_derivatives D>
D log_sum_exp(const D& t, const D& h) {
  if (is_minus_infinity(t)) return h;
  if (is_minus_infinity(h)) return t;
  const auto weight = carry_weights(t.number - h.number);
  return D::made(log_sum_exp(t.number, h.number), D::by(t, [&] { return weight.w; }),
                 D::by(h, [&] { return weight.v; }));
}

template <carries_derivatives D>
D power(const D& x, rational e) {
  using R = typename D::underlying;
  const auto r = power(x.number, e);
  const auto integer = [](long i) { return from_integer<R>(static_cast<double>(i)); };
  const auto slope = [&] {
    if (e.p == 0) return R(0.0);
    if (to_double(x) == 0.0) return integer(e.p) / integer(e.q) * power(x.number, ratio(e.p - e.q, e.q));
    return integer(e.p) * r / (integer(e.q) * x.number);
  };
  return D::made(r, D::by(x, slope));
}
template <carries_derivatives D>
D pow(const D& x, const D& e) {
  using R = typename D::underlying;
  const auto r = pow(x.number, e.number);
  // A positive power of 0 stays 0 when its exponent changes.
  const bool stays_zero = to_double(x) == 0.0 && bool(less(R(0.0), e.number));
  return D::made(
      r, D::by(x, [&] { return stays_zero ? e.number * pow(x.number, e.number - R(1.0)) : e.number * r / x.number; }),
      D::by(e, [&] { return stays_zero ? R(0.0) : r * log(x.number); }));
}

/// The slope (1 - cos x) / x = 2 sin^2(x / 2) / x.
template <carries_derivatives D>
D entire_cosine_integral(const D& x) {
  using R = typename D::underlying;
  const auto slope = [&] {
    if (to_double(x) == 0.0) return R(0.0);
    const R half = sin(x.number / R(2.0));
    return R(2.0) * half * half / x.number;
  };
  return D::made(entire_cosine_integral(x.number), D::by(x, slope));
}

template <carries_derivatives D>
boost::tribool less(const D& x, const D& y) {
  return less(x.number, y.number);
}
template <carries_derivatives D>
D either(boost::tribool condition, const D& x, const D& y) {
  ASSAY_EXPECTS(!boost::indeterminate(condition));
  return condition ? x : y;
}
/// The larger number; x where both are equal.
template <carries_derivatives D>
D larger(const D& x, const D& y) {
  const boost::tribool below = less(x, y);
  const D branch = either(below, y, x);
  return D::made(larger(x.number, y.number), D::along(branch));
}
/// The derivative is 0, also at the jumps.
template <carries_derivatives D>
D floor(const D& x) {
  return D(floor(x.number));
}

/// Another way to compute the number has the same slope in x as the number itself.
template <carries_derivatives D, class Other>
D covering(const D& x, Other other) {
  return D::made(covering(x.number, [&] { return other().number; }), D::along(x));
}

}  // namespace assay::reference
