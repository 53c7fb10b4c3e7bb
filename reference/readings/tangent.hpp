// The derivative along one direction: dual numbers over `value`. Checks gradients.
#pragma once

#include "reference/readings/differentiated.hpp"
#include "reference/readings/value.hpp"

namespace assay::reference {

struct tangent {
  using underlying = value;
  value number, derivative;

  tangent() = default;
  explicit tangent(double x) : number(x) {}
  explicit tangent(value x, value d = value(0.0)) : number(std::move(x)), derivative(std::move(d)) {}

  /// r = x / y with the derivative (x' - r y') / y, which is 0 where numerator and denominator change alike.
  friend tangent operator/(const tangent& x, const tangent& y) {
    const value r = x.number / y.number;
    return tangent(r, (x.derivative - r * y.derivative) / y.number);
  }

  // See differentiated.hpp.
  static value along(const tangent& x) { return x.derivative; }
  static value against(const tangent& x) { return -x.derivative; }
  template <class Slope>
  static value by(const tangent& x, Slope slope) {
    return slope() * x.derivative;
  }
  template <class Divisor>
  static value over(const tangent& x, Divisor divisor) {
    return x.derivative / divisor();
  }
  template <class... Parts>
  static tangent made(value r, const Parts&... parts) {
    value derivative(0.0);
    ((derivative = derivative + parts), ...);
    return tangent(std::move(r), std::move(derivative));
  }
};

}  // namespace assay::reference
