// The state that one part of a sequence hands to the next, as one number with more digits.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace assay::optimized::heinsen {

/// A type that holds both words of a state: 53 bits for f32, and the bits of long double for f64 (64 on x86).
template <class Real>
using carry_of = std::conditional_t<std::is_same_v<Real, float>, double, long double>;

/// If the high word is not finite, the low word is ignored.
///
///     const double state = heinsen::joined_words(s_n, s_n_low);  // of floats
template <class Real>
carry_of<Real> joined_words(Real high, Real low) {
  const carry_of<Real> y = high;
  return std::isfinite(high) ? y + low : y;
}

/// Splits a carry into words: `high` is the nearest Real, and `low` is the rest.
///
///     float s_n = 0, s_n_low = 0;
///     heinsen::split_words(state, s_n, s_n_low);
template <class Real>
void split_words(carry_of<Real> x, Real& high, Real& low) {
  high = static_cast<Real>(x);
  low = std::isfinite(high) ? static_cast<Real>(x - high) : Real(0);
}

/// log(e^t + e^h). The result is NaN if an argument is NaN; else it is +inf if an argument is +inf.
///
///     const double state = heinsen::joined(log_p + before, h);  // of one token more
template <class Carry>
Carry joined(Carry t, Carry h) {
  if (std::isnan(t) || std::isnan(h)) return std::numeric_limits<Carry>::quiet_NaN();
  const Carry gap = std::fabs(t - h);
  return std::max(t, h) + (std::isfinite(gap) ? std::log1p(std::exp(-gap)) : Carry(0));
}

}  // namespace assay::optimized::heinsen
