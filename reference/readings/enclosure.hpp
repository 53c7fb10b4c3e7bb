// The proof reading: an outward-rounded interval that contains the truth.
//
// Endpoints are MPFR numbers of a fixed precision (Boost.Multiprecision's mpfi_float with static digits:
// its default precision is process-global). Each endpoint also knows whether it is *open*: the truth is
// known to differ from it. A truth that lies strictly above a rounding midpoint rounds up, however
// little it lies above, so openness decides cases that no number of digits would.
//
// Increasing functions are enclosed by their values at the two ends, each computed with the rounding that
// widens; composing them from interval operations would count the same argument twice. Where the ends are so
// close that the slope between them is known, the value at one of them and a bound of the increase to the
// other save the second evaluation (a mean value form, Moore, Kearfott and Cloud 2009, section 6.4).
#pragma once

#include <mpfi.h>
#include <mpfr.h>

#include <boost/multiprecision/mpfi.hpp>
#include <cmath>

#include "reference/readings/directed_cosine_integral.hpp"
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

}  // namespace directed

/// Widths are bounded with few digits, rounded up.
constexpr mpfr_prec_t width_bits = 32;
/// Arguments that differ by t, |t| < narrow, change exp by a factor between 1 + 0.99 t and 1 + 1.01 t.
constexpr double narrow = 0x1p-8;

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

  friend double to_double(const enclosure& x) { return mpfr_get_d(x.low(), MPFR_RNDN); }
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

  /// Of openness only what the roundings show is claimed.
  friend enclosure operator/(const enclosure& x, const enclosure& y) {
    enclosure r;
    return r.with_inexact_ends(mpfi_div(r.data(), x.data(), y.data()));
  }
  friend enclosure sin(const enclosure& x) {
    enclosure r;
    return r.with_inexact_ends(mpfi_sin(r.data(), x.data()));
  }
  friend enclosure cos(const enclosure& x) {
    enclosure r;
    return r.with_inexact_ends(mpfi_cos(r.data(), x.data()));
  }
  /// (x^|p|)^(1/q) or its reciprocal: increasing in x, and each step tells whether it was exact.
  friend enclosure power(const enclosure& x, rational e) {
    const auto magnitude = static_cast<unsigned long>(e.p < 0 ? -e.p : e.p), root = static_cast<unsigned long>(e.q);
    const enclosure r = increasing(x, [&](mpfr_ptr end, mpfr_srcptr a, mpfr_rnd_t mode) {
      const int powered = mpfr_pow_ui(end, a, magnitude, mode);
      return static_cast<int>(static_cast<unsigned>(mpfr_rootn_ui(end, end, root, mode) != 0) |
                              static_cast<unsigned>(powered != 0));
    });
    return e.p < 0 ? enclosure(1.0) / r : r;
  }

  friend enclosure log_sum_exp(const enclosure& x, const enclosure& y) {
    if (x.is_nan() || y.is_nan()) return x + y;
    if (is_minus_infinity(x)) return y;
    if (is_minus_infinity(y)) return x;
    enclosure r;
    if (!log_sum_exp_of_narrow(r, x, y)) {
      directed::log_sum_exp(r.left(), x.low(), y.low(), MPFR_RNDD);
      directed::log_sum_exp(r.right(), x.high(), y.high(), MPFR_RNDU);
    }
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
  friend enclosure log(const enclosure& x) {
    return increasing(x, [](mpfr_ptr r, mpfr_srcptr a, mpfr_rnd_t mode) { return mpfr_log(r, a, mode); });
  }
  /// Even, increasing in |x|. Whether an end is attained is not known.
  friend enclosure entire_cosine_integral(const enclosure& x) {
    if (x.is_negative()) return entire_cosine_integral(-x);
    const auto end = [](mpfr_ptr r, mpfr_srcptr a, mpfr_rnd_t mode) {
      directed::entire_cosine_integral(r, a, mode);
      return 0;
    };
    if (!x.straddles_zero()) return increasing(x, end);
    enclosure r, below;
    end(below.right(), x.low(), MPFR_RNDU);
    end(r.right(), x.high(), MPFR_RNDU);
    mpfr_max(r.right(), r.right(), below.right(), MPFR_RNDU);
    return r;
  }
  friend enclosure sigmoid(const enclosure& z) { return carry_weights(z).w; }
  friend enclosure softplus(const enclosure& x) { return log_sum_exp(enclosure(0.0), x); }
  friend enclosure log_sigmoid(const enclosure& g) { return -softplus(-g); }
  friend weight_pair<enclosure> carry_weights(const enclosure& z) {
    weight_pair<enclosure> r;
    if (mpfr_sgn(z.low()) > 0 && weights_of_narrow(r.w, r.v, z)) return r;
    if (mpfr_sgn(z.high()) < 0 && weights_of_narrow(r.v, r.w, -z)) return r;
    return {sigmoid_of_ends(z), sigmoid_of_ends(-z)};
  }

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

  enclosure& with_inexact_ends(int inexact) {
    low_open_ = MPFI_LEFT_IS_INEXACT(inexact);
    high_open_ = MPFI_RIGHT_IS_INEXACT(inexact);
    return without_false_openness();
  }

  template <class Function>
  static enclosure increasing(const enclosure& x, Function f) {
    enclosure r;
    r.low_open_ = f(r.left(), x.low(), MPFR_RNDD) != 0 || x.low_open_;
    r.high_open_ = f(r.right(), x.high(), MPFR_RNDU) != 0 || x.high_open_;
    return r.without_false_openness();
  }

  // The sigmoid of a dyadic number other than 0 is transcendental.
  static enclosure sigmoid_of_ends(const enclosure& z) {
    enclosure r;
    directed::sigmoid(r.left(), z.low(), MPFR_RNDD);
    directed::sigmoid(r.right(), z.high(), MPFR_RNDU);
    r.low_open_ = z.low_open_ || (mpfr_number_p(z.low()) != 0 && mpfr_zero_p(z.low()) == 0);
    r.high_open_ = z.high_open_ || (mpfr_number_p(z.high()) != 0 && mpfr_zero_p(z.high()) == 0);
    return r.without_false_openness();
  }

  /// The low end is x + L, L = log1p(E), E = exp(d), d = y - x at the low ends, x the larger; and if d is larger
  /// by t at the high ends, then with the slope E / (1 + E) of log1p(exp(d))
  ///
  ///     LSE(high) <= x_high + L + E / (1 + E) (t (1 +- 0.01) + 1.01 (|d| + 1) 2^(1-p) + 2^(3-p)):
  ///
  /// d, E and L were each rounded down, and L <= 2 E / (1 + E). False, with r unusable, where an end is
  /// infinite, t is not narrow or E underflows.
  static bool log_sum_exp_of_narrow(enclosure& r, const enclosure& x, const enclosure& y) {
    if (!x.is_finite() || !y.is_finite()) return false;
    if (mpfr_less_p(x.low(), y.low()) != 0) return log_sum_exp_of_narrow(r, y, x);
    const auto p = static_cast<long>(r.precision());
    mpfr_scratch d(p), e(p), t(width_bits), gain(width_bits), slope(width_bits);
    mpfr_sub(d, y.low(), x.low(), MPFR_RNDD);
    mpfr_sub(r.right(), y.high(), x.high(), MPFR_RNDU);
    mpfr_sub(t, r.right(), d, MPFR_RNDU);
    mpfr_abs(gain, d, MPFR_RNDU);
    mpfr_add_ui(gain, gain, 1, MPFR_RNDU);
    mpfr_mul_2si(gain, gain, 1 - p, MPFR_RNDU);
    if (mpfr_cmp_d(gain, narrow / 2) >= 0 || mpfr_cmp_d(t, narrow / 2) >= 0 || mpfr_cmp_d(t, -narrow / 2) <= 0)
      return false;
    mpfr_exp(e, d, MPFR_RNDD);
    if (mpfr_zero_p(e) != 0) return false;
    mpfr_log1p(r.left(), e, MPFR_RNDD);

    mpfr_mul_d(gain, gain, 1.01, MPFR_RNDU);
    mpfr_mul_d(t, t, mpfr_signbit(t) == 0 ? 1.01 : 0.99, MPFR_RNDU);
    mpfr_add(gain, gain, t, MPFR_RNDU);
    mpfr_set_ui_2exp(t, 1, 3 - p, MPFR_RNDU);
    mpfr_add(gain, gain, t, MPFR_RNDU);
    mpfr_add_ui(slope, e, 1, MPFR_RNDD);
    mpfr_div(slope, e, slope, MPFR_RNDU);
    mpfr_mul(gain, gain, slope, MPFR_RNDU);

    mpfr_add(r.right(), r.left(), gain, MPFR_RNDU);
    mpfr_add(r.right(), x.high(), r.right(), MPFR_RNDU);
    mpfr_add(r.left(), x.low(), r.left(), MPFR_RNDD);
    return true;
  }

  /// 1 / (1 + e) and e / (1 + e), e = exp(-z) for z > 0, from one exponential at the low end of z: there e is
  /// below E's successor, and at the high end it is above E (1 - width of z).
  static bool weights_of_narrow(enclosure& larger, enclosure& smaller, const enclosure& z) {
    if (!z.is_finite()) return false;
    mpfr_scratch width(width_bits);
    mpfr_sub(width, z.high(), z.low(), MPFR_RNDU);
    if (mpfr_cmp_d(width, narrow) >= 0) return false;
    const mpfr_prec_t p = z.precision();
    mpfr_scratch low(p), high(p), sum(p);
    mpfr_neg(high, z.low(), MPFR_RNDN);
    mpfr_exp(high, high, MPFR_RNDD);
    mpfr_mul(low, high, width, MPFR_RNDU);
    mpfr_sub(low, high, low, MPFR_RNDD);
    mpfr_nextabove(high);

    mpfr_add_ui(sum, high, 1, MPFR_RNDU);
    mpfr_ui_div(larger.left(), 1, sum, MPFR_RNDD);
    mpfr_add_ui(sum, high, 1, MPFR_RNDD);
    mpfr_div(smaller.right(), high, sum, MPFR_RNDU);
    mpfr_add_ui(sum, low, 1, MPFR_RNDD);
    mpfr_ui_div(larger.right(), 1, sum, MPFR_RNDU);
    mpfr_add_ui(sum, low, 1, MPFR_RNDU);
    mpfr_div(smaller.left(), low, sum, MPFR_RNDD);
    // z, dyadic and not 0, has a transcendental exponential: no end is attained.
    larger.low_open_ = larger.high_open_ = smaller.low_open_ = smaller.high_open_ = true;
    return true;
  }

  number interval_;
  bool low_open_ = false, high_open_ = false;
};

}  // namespace assay::reference
