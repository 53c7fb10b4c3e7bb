// The proof reading: an outward-rounded interval that contains the truth.
//
// Endpoints are MPFR numbers (Boost.Multiprecision's mpfi_float) with the working precision of the thread. Boost's own
// default precision is process-global, so it is never changed: every number is made as a copy of a zero that has the
// working precision. Each endpoint also knows whether it is *open*: then the truth is known to differ from it. A truth
// strictly above a rounding midpoint rounds up, however little it lies above, so openness decides cases that no number
// of digits would decide.
//
// Increasing functions are enclosed by their values at the two ends, each computed with the rounding that
// widens (directed.hpp); composing them from interval operations would count the same argument twice.
//
// Where the truth may lie beyond the domain of a function, or may be no number, nothing is known about the result. It
// is *unknown*, and so is everything that is computed from it, even by a factor of 0 or by a choice. NaN is proved
// where the whole argument lies outside the domain. A zero knows its sign where the sign was given, where it is the
// negative of such a zero, or where it is a product or quotient of operands whose signs are known.
//
// A comparison has three values. Where the intervals overlap it is indeterminate, and a result that depends on it is
// the hull of both branches (Kleene 1952, section 64).
#pragma once

#include <mpfi.h>
#include <mpfr.h>

#include <boost/multiprecision/mpfi.hpp>

#include "reference/readings/directed.hpp"
#include "reference/readings/reading.hpp"

namespace assay::reference {

/// Sets the precision of the enclosures that this thread makes until the end of the scope. Scopes nest; outside of all
/// scopes it is 35 decimal digits.
class computing_with_digits {
 public:
  explicit computing_with_digits(unsigned decimal_digits);
  ~computing_with_digits();
  computing_with_digits(const computing_with_digits&) = delete;
  computing_with_digits& operator=(const computing_with_digits&) = delete;

 private:
  mpfr_prec_t before_;
};

class enclosure {
  using number =
      boost::multiprecision::number<boost::multiprecision::mpfi_float_backend<0>, boost::multiprecision::et_off>;

 public:
  enclosure();  ///< 0
  explicit enclosure(double x);

  [[nodiscard]] mpfr_srcptr low() const { return &interval_.backend().data()->left; }
  [[nodiscard]] mpfr_srcptr high() const { return &interval_.backend().data()->right; }
  [[nodiscard]] bool low_open() const { return low_open_; }
  [[nodiscard]] bool high_open() const { return high_open_; }
  [[nodiscard]] mpfr_prec_t precision() const { return mpfr_get_prec(low()); }
  [[nodiscard]] bool is_nan() const { return mpfr_nan_p(low()) != 0 || mpfr_nan_p(high()) != 0; }
  [[nodiscard]] bool is_finite() const { return mpfr_number_p(low()) != 0 && mpfr_number_p(high()) != 0; }
  [[nodiscard]] bool is_zero() const { return mpfr_zero_p(low()) != 0 && mpfr_zero_p(high()) != 0; }
  [[nodiscard]] bool is_unbounded() const { return mpfr_inf_p(low()) != 0 && mpfr_inf_p(high()) != 0; }
  /// Infinite, whatever its rounding errors are.
  [[nodiscard]] bool is_infinite() const { return is_unbounded() && mpfr_sgn(low()) == mpfr_sgn(high()); }
  /// Any number, finite or infinite, or no number at all.
  [[nodiscard]] bool is_unknown() const { return is_unbounded() && mpfr_sgn(low()) < 0 && mpfr_sgn(high()) > 0; }
  [[nodiscard]] bool straddles_zero() const { return mpfr_sgn(low()) < 0 && mpfr_sgn(high()) > 0; }
  [[nodiscard]] bool is_negative() const { return mpfr_sgn(high()) <= 0 && mpfr_sgn(low()) < 0; }
  /// The sign of a zero; 0 where the sign is not known.
  [[nodiscard]] int sign_of_zero() const {
    const bool negative = mpfr_signbit(low()) != 0;
    return negative != (mpfr_signbit(high()) != 0) ? 0 : negative ? -1 : 1;
  }

  friend double to_double(const enclosure& x) { return mpfr_get_d(x.low(), MPFR_RNDN); }
  friend bool is_minus_infinity(const enclosure& x) { return mpfr_inf_p(x.high()) != 0 && mpfr_sgn(x.high()) < 0; }

  /// Infinities of opposite signs have no sum.
  friend enclosure operator+(const enclosure& x, const enclosure& y);
  friend enclosure operator-(const enclosure& x);
  friend enclosure operator-(const enclosure& x, const enclosure& y) { return x + -y; }
  /// 0 times infinity is NaN. An end that is infinite because it overflowed is no infinity, and 0 times a number below
  /// it is 0.
  friend enclosure operator*(const enclosure& x, const enclosure& y);
  /// An end is called open only where its rounding shows this. 0 / 0 is NaN, and another number of known sign over a 0
  /// of known sign is infinite. Otherwise the result is unknown where the divisor may be 0.
  friend enclosure operator/(const enclosure& x, const enclosure& y);

  // For primitives: the ends to be filled, and the facts known about them.

  [[nodiscard]] mpfi_ptr data() { return interval_.backend().data(); }
  [[nodiscard]] mpfi_srcptr data() const { return interval_.backend().data(); }
  [[nodiscard]] mpfr_ptr left() { return &data()->left; }
  [[nodiscard]] mpfr_ptr right() { return &data()->right; }
  [[nodiscard]] directed::ends ends() const { return {low(), high()}; }
  [[nodiscard]] directed::result_ends result() { return {left(), right()}; }
  static enclosure nan();
  static enclosure unknown();
  static enclosure zero(int sign);

  /// Says which ends the truth differs from. Where an end is infinite or NaN, both ends stay closed.
  enclosure& with_open_ends(bool low, bool high);
  /// The same from MPFI's flags of inexact ends.
  enclosure& with_inexact_ends(int inexact);

  /// The values of an increasing function at both ends. f(result, end, mode) rounds as `mode` says and returns whether
  /// the result is inexact, as MPFR's functions do.
  template <class Function>
  static enclosure increasing(const enclosure& x, Function f) {
    if (x.is_unknown()) return x;
    enclosure r;
    const bool low_open = f(r.left(), x.low(), MPFR_RNDD) != 0 || x.low_open_;
    const bool high_open = f(r.right(), x.high(), MPFR_RNDU) != 0 || x.high_open_;
    return r.with_open_ends(low_open, high_open);
  }
  /// The same for a function that is defined from `first` on; its value there may be an infinite limit (`pole`).
  template <class Function>
  static enclosure increasing_from(long first, bool pole, const enclosure& x, Function f) {
    if (x.is_nan() || x.is_unknown()) return x;
    const int highest = mpfr_cmp_si(x.high(), first), lowest = mpfr_cmp_si(x.low(), first);
    if (highest < 0 || (highest == 0 && x.high_open_)) return nan();
    if (lowest < 0 || (pole && lowest == 0 && highest > 0 && !x.low_open_)) return unknown();
    return increasing(x, f);
  }

 private:
  number interval_;
  bool low_open_ = false, high_open_ = false;
};

}  // namespace assay::reference
