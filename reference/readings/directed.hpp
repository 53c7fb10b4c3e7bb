// Directed evaluation of the primitives by MPFR, for the ends of intervals.
//
// An increasing function maps an interval to the interval of its values at the two ends. Where the ends are so close
// that the slope between them is known, one value and a bound on the increase to the other end save the second
// evaluation (a mean value form, Moore, Kearfott and Cloud 2009, section 6.4).
#pragma once

#include <mpfr.h>

#include "reference/readings/directed_cosine_integral.hpp"

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

/// `result` <= f(x) for MPFR_RNDD, >= for MPFR_RNDU.
namespace directed {

constexpr mpfr_rnd_t opposite(mpfr_rnd_t mode) { return mode == MPFR_RNDD ? MPFR_RNDU : MPFR_RNDD; }

/// max(x, y) + log1p(exp(-|x - y|)); where either is infinite, the larger one. `result` may not alias x or y.
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

/// Widths are bounded with few digits, rounded up.
constexpr mpfr_prec_t width_bits = 32;
/// Arguments that differ by t, |t| < narrow, change exp by a factor between 1 + 0.99 t and 1 + 1.01 t.
constexpr double narrow = 0x1p-8;

/// The ends of an interval, and the ends of the result; all have one precision.
struct ends {
  mpfr_srcptr low, high;
  [[nodiscard]] bool are_finite() const { return mpfr_number_p(low) != 0 && mpfr_number_p(high) != 0; }
};
struct result_ends {
  mpfr_ptr low, high;
};

/// The low end is x + L, L = log1p(E), E = exp(d), d = y - x at the low ends, where x is the larger. If d is larger by
/// t at the high ends, then with the slope E / (1 + E) of log1p(exp(d))
///
///     LSE(high) <= x_high + L + E / (1 + E) (t (1 +- 0.01) + 1.01 (|d| + 1) 2^(1-p) + 2^(3-p)):
///
/// d, E and L were each rounded down, and L <= 2 E / (1 + E). Returns false, with r unusable, where an end is infinite,
/// |t| or the error of d is at least narrow / 2, or E underflows.
inline bool log_sum_exp_of_narrow(result_ends r, ends x, ends y) {
  if (!x.are_finite() || !y.are_finite()) return false;
  if (mpfr_less_p(x.low, y.low) != 0) return log_sum_exp_of_narrow(r, y, x);
  const auto p = static_cast<long>(mpfr_get_prec(r.low));
  mpfr_scratch d(p), e(p), t(width_bits), gain(width_bits), slope(width_bits);
  mpfr_sub(d, y.low, x.low, MPFR_RNDD);
  mpfr_sub(r.high, y.high, x.high, MPFR_RNDU);
  mpfr_sub(t, r.high, d, MPFR_RNDU);
  mpfr_abs(gain, d, MPFR_RNDU);
  mpfr_add_ui(gain, gain, 1, MPFR_RNDU);
  mpfr_mul_2si(gain, gain, 1 - p, MPFR_RNDU);
  if (mpfr_cmp_d(gain, narrow / 2) >= 0 || mpfr_cmp_d(t, narrow / 2) >= 0 || mpfr_cmp_d(t, -narrow / 2) <= 0)
    return false;
  mpfr_exp(e, d, MPFR_RNDD);
  if (mpfr_zero_p(e) != 0) return false;
  mpfr_log1p(r.low, e, MPFR_RNDD);

  mpfr_mul_d(gain, gain, 1.01, MPFR_RNDU);
  mpfr_mul_d(t, t, mpfr_signbit(t) == 0 ? 1.01 : 0.99, MPFR_RNDU);
  mpfr_add(gain, gain, t, MPFR_RNDU);
  mpfr_set_ui_2exp(t, 1, 3 - p, MPFR_RNDU);
  mpfr_add(gain, gain, t, MPFR_RNDU);
  mpfr_add_ui(slope, e, 1, MPFR_RNDD);
  mpfr_div(slope, e, slope, MPFR_RNDU);
  mpfr_mul(gain, gain, slope, MPFR_RNDU);

  mpfr_add(r.high, r.low, gain, MPFR_RNDU);
  mpfr_add(r.high, x.high, r.high, MPFR_RNDU);
  mpfr_add(r.low, x.low, r.low, MPFR_RNDD);
  return true;
}

/// 1 / (1 + e) and e / (1 + e), e = exp(-z) for z > 0, from one exponential E at the low end of z: there e is below E's
/// successor, and at the high end e is above E (1 - width of z). Returns false where z is not narrow.
inline bool weights_of_narrow(result_ends larger, result_ends smaller, ends z) {
  if (!z.are_finite()) return false;
  mpfr_scratch width(width_bits);
  mpfr_sub(width, z.high, z.low, MPFR_RNDU);
  if (mpfr_cmp_d(width, narrow) >= 0) return false;
  const mpfr_prec_t p = mpfr_get_prec(z.low);
  mpfr_scratch low(p), high(p), sum(p);
  mpfr_neg(high, z.low, MPFR_RNDN);
  mpfr_exp(high, high, MPFR_RNDD);
  mpfr_mul(low, high, width, MPFR_RNDU);
  mpfr_sub(low, high, low, MPFR_RNDD);
  mpfr_nextabove(high);

  mpfr_add_ui(sum, high, 1, MPFR_RNDU);
  mpfr_ui_div(larger.low, 1, sum, MPFR_RNDD);
  mpfr_add_ui(sum, high, 1, MPFR_RNDD);
  mpfr_div(smaller.high, high, sum, MPFR_RNDU);
  mpfr_add_ui(sum, low, 1, MPFR_RNDD);
  mpfr_ui_div(larger.high, 1, sum, MPFR_RNDU);
  mpfr_add_ui(sum, low, 1, MPFR_RNDU);
  mpfr_div(smaller.low, low, sum, MPFR_RNDD);
  return true;
}

}  // namespace directed
}  // namespace assay::reference
