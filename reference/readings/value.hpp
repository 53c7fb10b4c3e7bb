// The truth at 100 decimal digits (334 bits), without a proof: it checks the other readings. MPFR's functions are
// correctly rounded, so the error of each operation is at most half a unit of the last digit.
#pragma once

#include <boost/multiprecision/mpfr.hpp>

#include "reference/readings/reading.hpp"

namespace assay::reference {

struct value {
  using real =
      boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<100>, boost::multiprecision::et_off>;
  real number = 0;

  value() = default;
  explicit value(double x) : number(x) {}
  explicit value(real x) : number(std::move(x)) {}
  [[nodiscard]] double to_double() const { return number.convert_to<double>(); }

  friend value operator+(const value& x, const value& y) { return value(real(x.number + y.number)); }
  friend value operator-(const value& x, const value& y) { return value(real(x.number - y.number)); }
  friend value operator*(const value& x, const value& y) { return value(real(x.number * y.number)); }
  friend value operator/(const value& x, const value& y) { return value(real(x.number / y.number)); }
  friend value operator-(const value& x) { return value(real(-x.number)); }

  friend double to_double(const value& x) { return x.to_double(); }
  friend bool is_nan(const value& x) { return boost::multiprecision::isnan(x.number); }
  friend bool is_infinite(const value& x) { return boost::multiprecision::isinf(x.number); }
  friend bool is_minus_infinity(const value& x) { return is_infinite(x) && x.number < 0; }
};

}  // namespace assay::reference
