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
};

}  // namespace assay::reference
