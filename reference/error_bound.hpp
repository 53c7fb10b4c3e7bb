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

/// k where the formula as written gives an infinity. By how much roundings move it is not known, as another order of a
/// sum may stay below: beyond the largest number of the dtype infinity is right, and so is what lies within slack *
/// 2^-10 of the truth; it says nothing of a truth below.
constexpr double right_where_the_truth_overflows = -std::numeric_limits<double>::infinity();

/// An element without an allowance is not judged: any answer is explained by the law, NaN among them. The truth is
/// finite.
inline bool is_not_judged(core::dtype storage, double k, double truth) {
  return std::isnan(k) || (k == right_where_the_truth_overflows && core::is_floating(storage) &&
                           std::fabs(truth) < core::largest_finite(storage));
}
/// The larger of two k: no allowance is the largest, then that any finite answer is right.
inline double larger_allowance(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  const double larger = std::fmax(x, y);
  return std::isinf(larger) || (x >= 0.0 && y >= 0.0) ? larger : right_where_the_truth_overflows;
}
/// u k, where there is an allowance. An infinity has none: it is the same or not.
inline double allowed_by(core::dtype compute, double k, double truth) {
  if (k != right_where_the_truth_overflows) return core::unit_roundoff(compute) * k;
  return std::isfinite(truth) ? 0x1p-10 * std::fabs(truth) : 0.0;
}

/// The error beyond which an element is a bug, where k is that of the widest law.
inline double bug_bound(core::dtype storage, core::dtype compute, double k, double truth) {
  if (is_not_judged(storage, k, truth)) return std::numeric_limits<double>::infinity();
  return bug_slack * allowed_by(compute, k, truth) + core::half_ulp(storage, truth);
}

/// Whether the final rounding has its half ulp besides the law: it is in that of `uniform`, where the arithmetic has
/// the precision of the storage.
constexpr bool adds_final_rounding(accuracy_class c, core::dtype storage, core::dtype compute) {
  return c != accuracy_class::uniform || storage != compute;
}

/// The error beyond which an element is not explained by the law of class c.
inline double class_bound(accuracy_class c, core::dtype storage, core::dtype compute, double k, double truth) {
  if (is_not_judged(storage, k, truth)) return std::numeric_limits<double>::infinity();
  const double rounding = adds_final_rounding(c, storage, compute) ? core::half_ulp(storage, truth) : 0.0;
  return slack_of(c) * allowed_by(compute, k, truth) + rounding;
}

}  // namespace assay::reference
