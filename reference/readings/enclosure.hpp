// The proof reading: an outward-rounded interval that contains the truth.
//
// Endpoints are MPFR numbers of a fixed precision (Boost.Multiprecision's mpfi_float with static digits:
// its default precision is process-global). Each endpoint also knows whether it is *open*: the truth is
// known to differ from it. A truth that lies strictly above a rounding midpoint rounds up, however
// little it lies above, so openness decides cases that no number of digits would.
//
// Increasing functions are enclosed by their values at the two ends, each computed with the rounding that
// widens; composing them from interval operations would count the same argument twice.
#pragma once

#include <mpfi.h>
#include <mpfr.h>

#include <boost/multiprecision/mpfi.hpp>
#include <cmath>

#include "reference/readings/reading.hpp"

namespace assay::reference {

/// A temporary of MPFR with the precision of the interval it serves.
class mpfr_scratch {
 public:
  explicit mpfr_scratch(mpfr_prec_t bits) { mpfr_init2(number_, bits); }
  ~mpfr_scratch() { mpfr_clear(number_); }
  mpfr_scratch(const mpfr_scratch&) = delete;
  mpfr_scratch& operator=(const mpfr_scratch&) = delete;
  operator mpfr_ptr() { return number_; }

 private:
  mpfr_t number_;
};

/// Directed evaluation of the primitives: `result` <= f(x) for MPFR_RNDD, >= for MPFR_RNDU.
namespace directed {

constexpr mpfr_rnd_t opposite(mpfr_rnd_t mode) { return mode == MPFR_RNDD ? MPFR_RNDU : MPFR_RNDD; }

/// max(x, y) + log1p(exp(-|x - y|)); the larger one where either is infinite. `result` may not alias x or y.
inline void log_sum_exp(mpfr_ptr result, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t mode) {
  const bool x_is_larger = mpfr_greaterequal_p(x, y) != 0;
  if (mpfr_inf_p(x) != 0 || mpfr_inf_p(y) != 0) {
    mpfr_set(result, x_is_larger ? x : y, mode);
    return;
  }
  mpfr_sub(result, x_is_larger ? y : x, x_is_larger ? x : y, mode);  // -|x - y|
  mpfr_exp(result, result, mode);
  mpfr_log1p(result, result, mode);
  mpfr_add(result, x_is_larger ? x : y, result, mode);
}

/// 1 / (1 + exp(-z)). With MPFR's exponents (|e| < 2^62 where a long has 64 bits) exp(-z) overflows only for
/// z < -2^62 log 2 = -3.2e18. Even there the bound holds: rounded up, the overflow is +inf and the quotient 0;
/// rounded down, it is the largest number, and its reciprocal is above the truth.
inline void sigmoid(mpfr_ptr result, mpfr_srcptr z, mpfr_rnd_t mode) {
  mpfr_neg(result, z, MPFR_RNDN);
  mpfr_exp(result, result, opposite(mode));
  mpfr_add_ui(result, result, 1, opposite(mode));
  mpfr_ui_div(result, 1, result, mode);
}

/// log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)).
inline void softplus(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t mode) {
  if (mpfr_sgn(x) <= 0) {
    mpfr_exp(result, x, mode);
    mpfr_log1p(result, result, mode);
  } else {
    mpfr_neg(result, x, MPFR_RNDN);
    mpfr_exp(result, result, mode);
    mpfr_log1p(result, result, mode);
    mpfr_add(result, x, result, mode);
  }
}

}  // namespace directed

template <unsigned Digits>
class enclosure {
  using number =
      boost::multiprecision::number<boost::multiprecision::mpfi_float_backend<Digits>, boost::multiprecision::et_off>;

 public:
  enclosure() : enclosure(0.0) {}
  explicit enclosure(double x) { mpfi_set_d(data(), x); }

  [[nodiscard]] mpfr_srcptr low() const { return &interval_.backend().data()->left; }
  [[nodiscard]] mpfr_srcptr high() const { return &interval_.backend().data()->right; }
  [[nodiscard]] bool low_open() const { return low_open_; }
  [[nodiscard]] bool high_open() const { return high_open_; }
  [[nodiscard]] mpfr_prec_t precision() const { return mpfr_get_prec(low()); }
  [[nodiscard]] bool is_nan() const { return mpfr_nan_p(low()) != 0 || mpfr_nan_p(high()) != 0; }
  [[nodiscard]] bool is_finite() const { return mpfr_number_p(low()) != 0 && mpfr_number_p(high()) != 0; }

  friend bool is_minus_infinity(const enclosure& x) { return mpfr_inf_p(x.high()) != 0 && mpfr_sgn(x.high()) < 0; }

  friend enclosure operator+(const enclosure& x, const enclosure& y) {
    enclosure r;
    const int inexact = mpfi_add(r.data(), x.data(), y.data());
    r.low_open_ = MPFI_LEFT_IS_INEXACT(inexact) || x.low_open_ || y.low_open_;
    r.high_open_ = MPFI_RIGHT_IS_INEXACT(inexact) || x.high_open_ || y.high_open_;
    return r.without_false_openness();
  }
  friend enclosure operator-(const enclosure& x) {
    enclosure r;
    mpfi_neg(r.data(), x.data());
    r.low_open_ = x.high_open_;
    r.high_open_ = x.low_open_;
    return r;
  }
  friend enclosure operator-(const enclosure& x, const enclosure& y) { return x + -y; }

  /// Where neither factor changes sign, the corner that gives an end is known, and with it whether the
  /// product can attain it. Where both do, two corners compete for each end: nothing is claimed.
  friend enclosure operator*(const enclosure& x, const enclosure& y) {
    if (x.is_negative()) return -(-x * y);
    if (y.is_negative()) return -(x * -y);
    enclosure r;
    const int inexact = mpfi_mul(r.data(), x.data(), y.data());
    if (x.straddles_zero() && y.straddles_zero()) return r;
    r.low_open_ = MPFI_LEFT_IS_INEXACT(inexact);
    r.high_open_ = MPFI_RIGHT_IS_INEXACT(inexact);
    if (mpfr_sgn(x.low()) >= 0 && mpfr_sgn(y.low()) >= 0) {
      const auto open = [](bool x_open, mpfr_srcptr x_end, bool y_open, mpfr_srcptr y_end) {
        return (x_open && mpfr_sgn(y_end) > 0) || (y_open && mpfr_sgn(x_end) > 0);
      };
      r.low_open_ = r.low_open_ || open(x.low_open_, x.low(), y.low_open_, y.low());
      r.high_open_ = r.high_open_ || open(x.high_open_, x.high(), y.high_open_, y.high());
    }
    return r.without_false_openness();
  }

  friend enclosure log_sum_exp(const enclosure& x, const enclosure& y) {
    if (x.is_nan() || y.is_nan()) return x + y;
    if (is_minus_infinity(x)) return y;
    if (is_minus_infinity(y)) return x;
    enclosure r;
    directed::log_sum_exp(r.left(), x.low(), y.low(), MPFR_RNDD);
    directed::log_sum_exp(r.right(), x.high(), y.high(), MPFR_RNDU);
    // e^x + e^y = e^r has no solution in dyadic numbers (Lindemann-Weierstrass), so an end, being dyadic, is
    // not the value at its corner: it is open. A term that may be -inf leaves the other's end, open if that is.
    const auto open = [](mpfr_srcptr x_end, bool x_open, mpfr_srcptr y_end, bool y_open) {
      const bool x_infinite = mpfr_inf_p(x_end) != 0, y_infinite = mpfr_inf_p(y_end) != 0;
      return x_infinite ? !y_infinite && y_open : y_infinite ? x_open : true;
    };
    r.low_open_ = open(x.low(), x.low_open_, y.low(), y.low_open_);
    r.high_open_ = open(x.high(), x.high_open_, y.high(), y.high_open_);
    return r.without_false_openness();
  }
  friend enclosure exp(const enclosure& x) {
    return increasing(x, [](mpfr_ptr r, mpfr_srcptr a, mpfr_rnd_t mode) { return mpfr_exp(r, a, mode); });
  }
  friend enclosure log1p(const enclosure& x) {
    return increasing(x, [](mpfr_ptr r, mpfr_srcptr a, mpfr_rnd_t mode) { return mpfr_log1p(r, a, mode); });
  }
  friend enclosure sigmoid(const enclosure& z) { return transcendental(z, directed::sigmoid); }
  friend enclosure softplus(const enclosure& x) { return transcendental(x, directed::softplus); }
  friend enclosure log_sigmoid(const enclosure& g) { return -softplus(-g); }
  friend weight_pair<enclosure> carry_weights(const enclosure& z) { return {sigmoid(z), sigmoid(-z)}; }

 private:
  mpfi_ptr data() { return interval_.backend().data(); }
  [[nodiscard]] mpfi_srcptr data() const { return interval_.backend().data(); }
  mpfr_ptr left() { return &data()->left; }
  mpfr_ptr right() { return &data()->right; }
  [[nodiscard]] bool straddles_zero() const { return mpfr_sgn(low()) < 0 && mpfr_sgn(high()) > 0; }
  [[nodiscard]] bool is_negative() const { return mpfr_sgn(high()) <= 0 && mpfr_sgn(low()) < 0; }

  // An infinite end is attained, and NaN has no ends.
  enclosure& without_false_openness() {
    if (!is_finite()) low_open_ = high_open_ = false;
    return *this;
  }

  template <class Function>
  static enclosure increasing(const enclosure& x, Function f) {
    enclosure r;
    r.low_open_ = f(r.left(), x.low(), MPFR_RNDD) != 0 || x.low_open_;
    r.high_open_ = f(r.right(), x.high(), MPFR_RNDU) != 0 || x.high_open_;
    return r.without_false_openness();
  }

  // An increasing function whose value at a dyadic number other than 0 is transcendental.
  template <class Function>
  static enclosure transcendental(const enclosure& x, Function f) {
    enclosure r;
    f(r.left(), x.low(), MPFR_RNDD);
    f(r.right(), x.high(), MPFR_RNDU);
    r.low_open_ = x.low_open_ || (mpfr_number_p(x.low()) != 0 && mpfr_zero_p(x.low()) == 0);
    r.high_open_ = x.high_open_ || (mpfr_number_p(x.high()) != 0 && mpfr_zero_p(x.high()) == 0);
    return r.without_false_openness();
  }

  number interval_;
  bool low_open_ = false, high_open_ = false;
};

}  // namespace assay::reference
