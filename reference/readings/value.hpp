// The truth at 100 decimal digits (335 bits), without a proof: for checking the other readings.
// MPFR's functions are correctly rounded, so each operation errs by at most half a unit of the last digit.
#pragma once

#include <boost/multiprecision/mpfr.hpp>
#include <limits>

#include "reference/readings/directed_cosine_integral.hpp"
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
  friend bool is_minus_infinity(const value& x) { return boost::multiprecision::isinf(x.number) && x.number < 0; }
  friend bool is_positive(const value& x) { return x.number > 0; }
  friend value larger(const value& x, const value& y) {
    if (is_nan(x) || is_nan(y)) return x + y;
    return x.number < y.number ? y : x;
  }
  friend boost::tribool less(const value& x, const value& y) { return x.number < y.number; }
  friend value either(boost::tribool condition, const value& x, const value& y) { return condition ? x : y; }
  friend value floor(const value& x) { return value(real(boost::multiprecision::floor(x.number))); }
  friend value clamp(const value& x, double low, double high) {
    return x.number < low ? value(low) : x.number > high ? value(high) : x;
  }
  friend value exp(const value& x) { return value(real(boost::multiprecision::exp(x.number))); }
  friend value log(const value& x) { return value(real(boost::multiprecision::log(x.number))); }
  friend value log1p(const value& x) { return value(real(boost::multiprecision::log1p(x.number))); }
  friend value sin(const value& x) { return value(real(boost::multiprecision::sin(x.number))); }
  friend value cos(const value& x) { return value(real(boost::multiprecision::cos(x.number))); }
  friend value entire_cosine_integral(const value& x) {
    value r;
    directed::entire_cosine_integral(r.number.backend().data(), x.number.backend().data(), MPFR_RNDD);
    return r;
  }
  friend value power(const value& x, rational e) {
    return value(real(boost::multiprecision::pow(x.number, real(e.p) / real(e.q))));
  }
  friend value log_sum_exp(const value& x, const value& y) {
    if (is_nan(x) || is_nan(y)) return x + y;
    const value m = larger(x, y);
    if (is_minus_infinity(x) || is_minus_infinity(y) || boost::multiprecision::isinf(m.number)) return m;
    return m + log1p(exp(value(real(-boost::multiprecision::abs((x - y).number)))));
  }
  friend value softplus(const value& x) { return log_sum_exp(value(0.0), x); }
  friend value log_sigmoid(const value& g) { return -softplus(-g); }
  friend value sigmoid(const value& z) { return exp(log_sigmoid(z)); }
  friend weight_pair<value> carry_weights(const value& z) { return {sigmoid(z), sigmoid(-z)}; }
};

}  // namespace assay::reference
