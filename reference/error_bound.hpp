// The rule of the verdict: |x - truth| <= slack * u * k + half an ulp.
//
// k is the running error bound of the element under a law (oracle.hpp, `allow`), u the unit roundoff of the precision
// of the arithmetic, half an ulp that of the storage dtype at the truth.
#pragma once

#include <cmath>
#include <limits>

#include "reference/accuracy_class.hpp"
#include "reference/core/dtype.hpp"

namespace assay::reference {

/// What k of a class is multiplied by before the class is denied: `uniform` is a bound as it stands.
constexpr double slack_of(accuracy_class c) { return c == accuracy_class::uniform ? 1.0 : class_slack; }

/// An element without an allowance is not judged: any answer is explained by the law, NaN among them.
inline bool is_not_judged(double k) { return std::isnan(k); }

/// The error beyond which an element is a bug, where k is that of the widest law.
inline double bug_bound(core::dtype storage, core::dtype compute, double k, double truth) {
  if (is_not_judged(k)) return std::numeric_limits<double>::infinity();
  return bug_slack * core::unit_roundoff(compute) * k + core::half_ulp(storage, truth);
}

/// Whether the final rounding has its half ulp besides the law: it is in that of `uniform`, where the arithmetic has
/// the precision of the storage.
constexpr bool adds_final_rounding(accuracy_class c, core::dtype storage, core::dtype compute) {
  return c != accuracy_class::uniform || storage != compute;
}

/// The error beyond which an element is not explained by the law of class c.
inline double class_bound(accuracy_class c, core::dtype storage, core::dtype compute, double k, double truth) {
  if (is_not_judged(k)) return std::numeric_limits<double>::infinity();
  const double rounding = adds_final_rounding(c, storage, compute) ? core::half_ulp(storage, truth) : 0.0;
  return slack_of(c) * core::unit_roundoff(compute) * k + rounding;
}

}  // namespace assay::reference
