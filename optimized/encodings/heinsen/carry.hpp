// The state that is handed from one part of a sequence to the next, as one number of more digits.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace assay::optimized::heinsen {

/// Holds both words of a state: 53 bits for f32, and as many as long double has for f64 (64 on x86).
template <class Real>
using carry_of = std::conditional_t<std::is_same_v<Real, float>, double, long double>;

/// The low word of what is not finite says nothing.
template <class Real>
carry_of<Real> joined_words(Real high, Real low) {
  const carry_of<Real> y = high;
  return std::isfinite(high) ? y + low : y;
}

/// The words of a carry: high is the nearest Real, low what it lacks.
template <class Real>
void split_words(carry_of<Real> x, Real& high, Real& low) {
  high = static_cast<Real>(x);
  low = std::isfinite(high) ? static_cast<Real>(x - high) : Real(0);
}

/// log(e^t + e^h): NaN if an argument is, and +inf if one is and none is NaN.
template <class Carry>
Carry joined(Carry t, Carry h) {
  if (std::isnan(t) || std::isnan(h)) return std::numeric_limits<Carry>::quiet_NaN();
  const Carry gap = std::fabs(t - h);
  return std::max(t, h) + (std::isfinite(gap) ? std::log1p(std::exp(-gap)) : Carry(0));
}

}  // namespace assay::optimized::heinsen
