// The rule of the verdict: |x - truth| <= slack * u * k + half an ulp.
//
// k is the running error bound of the element under a law (oracle.hpp, `allow`). u is the unit roundoff of the
// precision of the arithmetic. Half an ulp is that of the storage dtype at the truth.
#pragma once

#include <cmath>
#include <limits>

#include "reference/accuracy_class.hpp"
#include "reference/core/dtype.hpp"

namespace assay::reference {

/// The factor for k of a class before the class is denied. `uniform` is a bound as it stands.
constexpr double slack_of(accuracy_class c) { return c == accuracy_class::uniform ? 1.0 : class_slack; }

/// k where the formula as written gives an infinity. It is not known how far roundings move it, since another order of
/// a sum may stay finite. If the truth is beyond the largest number of the dtype, infinity is right, and so is any
/// answer within slack * 2^-10 of the truth. If the truth is below, this k says nothing.
constexpr double right_where_the_truth_overflows = -std::numeric_limits<double>::infinity();

/// Whether an element has no allowance and is not judged: the law explains any answer, NaN among them. The truth is
/// finite.
inline bool is_not_judged(core::dtype storage, double k, double truth) {
  return std::isnan(k) || (k == right_where_the_truth_overflows && core::is_floating(storage) &&
                           std::fabs(truth) < core::largest_finite(storage));
}
/// The larger of two k. The largest is no allowance; next comes the k with which any finite answer is right.
inline double larger_allowance(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  const double larger = std::fmax(x, y);
  return std::isinf(larger) || (x >= 0.0 && y >= 0.0) ? larger : right_where_the_truth_overflows;
}
/// u k, where there is an allowance. A truth that is infinite has none: an answer equals it or not.
inline double allowed_by(core::dtype compute, double k, double truth) {
  if (k != right_where_the_truth_overflows) return core::unit_roundoff(compute) * k;
  return std::isfinite(truth) ? 0x1p-10 * std::fabs(truth) : 0.0;
}

/// The error beyond which an element is a bug. Here k belongs to the widest law.
///
///     const bool is_wrong = std::fabs(x - truth) > bug_bound(core::dtype::bf16, core::dtype::f32, k, truth);
inline double bug_bound(core::dtype storage, core::dtype compute, double k, double truth) {
  if (is_not_judged(storage, k, truth)) return std::numeric_limits<double>::infinity();
  return bug_slack * allowed_by(compute, k, truth) + core::half_ulp(storage, truth);
}

/// Whether the half ulp of the final rounding is added to the law. The law of `uniform` contains it already, where the
/// arithmetic has the precision of the storage.
constexpr bool adds_final_rounding(accuracy_class c, core::dtype storage, core::dtype compute) {
  return c != accuracy_class::uniform || storage != compute;
}

/// The error beyond which an element is not explained by the law of class c.
///
///     const bool is_sequential =
///         error <= class_bound(accuracy_class::sequential, core::dtype::f32, core::dtype::f32, k, truth);
inline double class_bound(accuracy_class c, core::dtype storage, core::dtype compute, double k, double truth) {
  if (is_not_judged(storage, k, truth)) return std::numeric_limits<double>::infinity();
  const double rounding = adds_final_rounding(c, storage, compute) ? core::half_ulp(storage, truth) : 0.0;
  return slack_of(c) * allowed_by(compute, k, truth) + rounding;
}

}  // namespace assay::reference
