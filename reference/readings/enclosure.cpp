#include "reference/readings/enclosure.hpp"

#include <cmath>
#include <limits>

namespace assay::reference {
namespace {

using backend = boost::multiprecision::mpfi_float_backend<0>;

// Counts bits as Boost does: 35 decimal digits are 118 bits.
mpfr_prec_t bits_of(unsigned decimal_digits) {
  return static_cast<mpfr_prec_t>(boost::multiprecision::detail::digits10_2_2(decimal_digits));
}

constinit thread_local mpfr_prec_t working_bits = 0;  // 0: the standard precision

// A zero of the working precision, from which copies take their precision. It is kept between calls: making one costs
// two allocations.
const backend& working_zero() {
  static thread_local backend zero;
  static thread_local mpfr_prec_t bits = 0;
  const mpfr_prec_t wanted = working_bits != 0 ? working_bits : bits_of(35);
  if (bits != wanted) {
    mpfi_set_prec(zero.data(), wanted);
    mpfi_set_ui(zero.data(), 0);
    bits = wanted;
  }
  return zero;
}

}  // namespace

computing_with_digits::computing_with_digits(unsigned decimal_digits) : before_(working_bits) {
  working_bits = bits_of(decimal_digits);
}
computing_with_digits::~computing_with_digits() { working_bits = before_; }

enclosure::enclosure() : interval_(working_zero()) {}
enclosure::enclosure(double x) : interval_(working_zero()) {
  mpfi_set_d(data(), x);
  if (x == 0.0)  // MPFI gives the two ends of a zero opposite signs
    for (mpfr_ptr end : {left(), right()}) mpfr_set_zero(end, std::signbit(x) ? -1 : 1);
}

enclosure enclosure::nan() { return enclosure(std::numeric_limits<double>::quiet_NaN()); }
enclosure enclosure::unknown() {
  enclosure r;
  mpfr_set_inf(r.left(), -1);
  mpfr_set_inf(r.right(), 1);
  return r;
}
enclosure enclosure::zero(int sign) { return sign == 0 ? enclosure() : enclosure(sign < 0 ? -0.0 : 0.0); }

enclosure& enclosure::with_open_ends(bool low, bool high) {
  const bool finite = is_finite();
  low_open_ = finite && low;
  high_open_ = finite && high;
  return *this;
}
enclosure& enclosure::with_inexact_ends(int inexact) {
  return with_open_ends(MPFI_LEFT_IS_INEXACT(inexact), MPFI_RIGHT_IS_INEXACT(inexact));
}

enclosure operator+(const enclosure& x, const enclosure& y) {
  enclosure r;
  const int inexact = mpfi_add(r.data(), x.data(), y.data());
  if (r.is_nan() && !x.is_nan() && !y.is_nan() && !(x.is_infinite() && y.is_infinite())) return enclosure::unknown();
  return r.with_open_ends(MPFI_LEFT_IS_INEXACT(inexact) || x.low_open_ || y.low_open_,
                          MPFI_RIGHT_IS_INEXACT(inexact) || x.high_open_ || y.high_open_);
}

enclosure operator-(const enclosure& x) {
  if (x.is_zero()) return enclosure::zero(-x.sign_of_zero());
  enclosure r;
  mpfi_neg(r.data(), x.data());
  r.low_open_ = x.high_open_;
  r.high_open_ = x.low_open_;
  return r;
}

namespace {

// The sign of x; 0 where it is not known.
int sign_of(const enclosure& x) {
  if (x.is_zero()) return x.sign_of_zero();
  return x.is_negative() && mpfr_sgn(x.high()) < 0 ? -1 : mpfr_sgn(x.low()) > 0 ? 1 : 0;
}

}  // namespace

// Where at least one factor keeps its sign, it is known which corner gives an end, and so whether the product can
// attain it. Where both factors change sign, two corners compete for each end, and nothing is claimed.
enclosure operator*(const enclosure& x, const enclosure& y) {
  if (x.is_nan() || y.is_nan()) return enclosure::nan();
  if (x.is_unknown() || y.is_unknown()) return enclosure::unknown();
  if (x.is_infinite() || y.is_infinite()) {
    const enclosure& other = x.is_infinite() ? y : x;
    if (other.is_zero()) return enclosure::nan();
    if (mpfr_sgn(other.low()) <= 0 && mpfr_sgn(other.high()) >= 0) return enclosure::unknown();
  }
  if (x.is_zero() || y.is_zero()) return enclosure::zero(sign_of(x) * sign_of(y));
  if (x.is_negative()) return -(-x * y);
  if (y.is_negative()) return -(x * -y);
  enclosure r;
  const int inexact = mpfi_mul(r.data(), x.data(), y.data());
  if (r.is_nan()) return enclosure::unknown();
  if (x.straddles_zero() && y.straddles_zero()) return r;
  bool low_open = MPFI_LEFT_IS_INEXACT(inexact), high_open = MPFI_RIGHT_IS_INEXACT(inexact);
  if (mpfr_sgn(x.low()) >= 0 && mpfr_sgn(y.low()) >= 0) {
    const auto open = [](bool x_open, mpfr_srcptr x_end, bool y_open, mpfr_srcptr y_end) {
      return (x_open && mpfr_sgn(y_end) > 0) || (y_open && mpfr_sgn(x_end) > 0);
    };
    low_open = low_open || open(x.low_open_, x.low(), y.low_open_, y.low());
    high_open = high_open || open(x.high_open_, x.high(), y.high_open_, y.high());
  }
  return r.with_open_ends(low_open, high_open);
}

enclosure operator/(const enclosure& x, const enclosure& y) {
  if (x.is_nan() || y.is_nan()) return enclosure::nan();
  if (x.is_unknown() || y.is_unknown()) return enclosure::unknown();
  if (mpfr_sgn(y.low()) <= 0 && mpfr_sgn(y.high()) >= 0) {
    if (x.is_zero() && y.is_zero()) return enclosure::nan();
    const int sign = y.is_zero() ? sign_of(x) * sign_of(y) : 0;
    return sign == 0 ? enclosure::unknown() : enclosure(sign * std::numeric_limits<double>::infinity());
  }
  if (x.is_infinite() && y.is_unbounded()) return enclosure::nan();
  if (x.is_zero()) return enclosure::zero(sign_of(x) * sign_of(y));
  enclosure r;
  const int inexact = mpfi_div(r.data(), x.data(), y.data());
  return r.is_nan() ? enclosure::unknown() : r.with_inexact_ends(inexact);  // an infinite end over another
}

}  // namespace assay::reference
