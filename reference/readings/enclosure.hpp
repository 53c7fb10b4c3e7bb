// The proof reading: an outward-rounded interval that contains the truth.
//
// Endpoints are MPFR numbers of a fixed precision (Boost.Multiprecision's mpfi_float with static digits:
// its default precision is process-global). Each endpoint also knows whether it is *open*: the truth is
// known to differ from it. A truth that lies strictly above a rounding midpoint rounds up, however
// little it lies above, so openness decides cases that no number of digits would.
//
// Increasing functions are enclosed by their values at the two ends, each computed with the rounding that
// widens (directed.hpp); composing them from interval operations would count the same argument twice.
//
// A comparison has three values: where the intervals overlap it is indeterminate, and what depends on it is the hull of
// both branches (Kleene 1952, section 64).
#pragma once

#include <mpfi.h>
#include <mpfr.h>

#include <algorithm>
#include <boost/logic/tribool.hpp>
#include <boost/multiprecision/mpfi.hpp>
#include <cmath>
#include <limits>

#include "reference/readings/directed.hpp"
#include "reference/readings/reading.hpp"

namespace assay::reference {

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
  /// product can attain it. Where both do, two corners compete for each end: nothing is claimed. 0 times infinity is
  /// NaN; an end that is infinite because it overflowed is no infinity, and 0 times what lies below it is 0.
  friend enclosure operator*(const enclosure& x, const enclosure& y) {
    if (x.is_zero() || y.is_zero()) {
      const enclosure& other = x.is_zero() ? y : x;
      if (other.is_infinite()) return nan();
      if (other.is_unbounded()) return other;
    }
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
    if (!directed::log_sum_exp_of_narrow(r.result(), x.ends(), y.ends())) {
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

  /// False where either is NaN.
  friend boost::tribool less(const enclosure& x, const enclosure& y) {
    if (x.is_nan() || y.is_nan()) return false;
    if (lies_below(x, y)) return true;
    if (mpfr_greaterequal_p(x.low(), y.high()) != 0) return false;
    return boost::indeterminate;
  }
  /// Of branches that differ, one of them NaN, nothing is known.
  friend enclosure either(boost::tribool condition, const enclosure& x, const enclosure& y) {
    if (!boost::indeterminate(condition)) return condition ? x : y;
    if (x.is_nan() && y.is_nan()) return x;
    if (x.is_nan() || y.is_nan()) return whole_line();
    enclosure r;
    const int low = mpfr_cmp(x.low(), y.low()), high = mpfr_cmp(x.high(), y.high());
    mpfr_set(r.left(), low <= 0 ? x.low() : y.low(), MPFR_RNDD);
    mpfr_set(r.right(), high >= 0 ? x.high() : y.high(), MPFR_RNDU);
    r.low_open_ = (low > 0 || x.low_open_) && (low < 0 || y.low_open_);
    r.high_open_ = (high < 0 || x.high_open_) && (high > 0 || y.high_open_);
    return r.without_false_openness();
  }
  /// An open end that is an integer does not count: below 3, and not 3, the floor is at most 2.
  friend enclosure floor(const enclosure& x) {
    if (x.is_nan()) return x;
    enclosure r;
    mpfr_rint_floor(r.left(), x.low(), MPFR_RNDD);
    mpfr_rint_floor(r.right(), x.high(), MPFR_RNDU);
    if (x.high_open_ && mpfr_integer_p(x.high()) != 0) mpfr_sub_ui(r.right(), r.right(), 1, MPFR_RNDU);
    return r;
  }
  /// min(max(x, low), high), low <= high.
  friend enclosure clamp(const enclosure& x, double low, double high) {
    if (x.is_nan()) return x;
    // An end that meets the other limit is attained: below or at `low` everything becomes `low`.
    if (mpfr_cmp_d(x.high(), low) <= 0) return enclosure(low);
    if (mpfr_cmp_d(x.low(), high) >= 0) return enclosure(high);
    enclosure r(x);
    if (mpfr_cmp_d(x.low(), low) < 0) {
      mpfr_set_d(r.left(), low, MPFR_RNDD);
      r.low_open_ = false;
    }
    if (mpfr_cmp_d(x.high(), high) > 0) {
      mpfr_set_d(r.right(), high, MPFR_RNDU);
      r.high_open_ = false;
    }
    return r.without_false_openness();
  }

 private:
  mpfi_ptr data() { return interval_.backend().data(); }
  [[nodiscard]] mpfi_srcptr data() const { return interval_.backend().data(); }
  mpfr_ptr left() { return &data()->left; }
  mpfr_ptr right() { return &data()->right; }
  [[nodiscard]] directed::ends ends() const { return {low(), high()}; }
  directed::result_ends result() { return {left(), right()}; }
  [[nodiscard]] bool is_zero() const { return mpfr_zero_p(low()) != 0 && mpfr_zero_p(high()) != 0; }
  /// Infinite whatever its rounding errors.
  [[nodiscard]] bool is_infinite() const { return is_unbounded() && mpfr_sgn(low()) == mpfr_sgn(high()); }
  [[nodiscard]] bool is_unbounded() const { return mpfr_inf_p(low()) != 0 && mpfr_inf_p(high()) != 0; }
  [[nodiscard]] bool straddles_zero() const { return mpfr_sgn(low()) < 0 && mpfr_sgn(high()) > 0; }
  [[nodiscard]] bool is_negative() const { return mpfr_sgn(high()) <= 0 && mpfr_sgn(low()) < 0; }

  static enclosure nan() { return enclosure(std::numeric_limits<double>::quiet_NaN()); }
  static enclosure whole_line() {
    enclosure r;
    mpfr_set_inf(r.left(), -1);
    mpfr_set_inf(r.right(), 1);
    return r;
  }
  /// All of x is below all of y.
  static bool lies_below(const enclosure& x, const enclosure& y) {
    const int order = mpfr_cmp(x.high(), y.low());
    return order < 0 || (order == 0 && (x.high_open_ || y.low_open_));
  }

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

  // z, dyadic and not 0, has a transcendental exponential: no end is attained.
  static bool weights_of_narrow(enclosure& larger, enclosure& smaller, const enclosure& z) {
    if (!directed::weights_of_narrow(larger.result(), smaller.result(), z.ends())) return false;
    larger.low_open_ = larger.high_open_ = smaller.low_open_ = smaller.high_open_ = true;
    return true;
  }

  number interval_;
  bool low_open_ = false, high_open_ = false;
};

}  // namespace assay::reference
