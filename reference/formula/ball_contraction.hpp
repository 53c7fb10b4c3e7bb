// Contractions of balls by one bound for each sum: many times faster than ball by ball, and hardly wider.
#pragma once

#include <optional>

#include "reference/formula/arrays.hpp"
#include "reference/readings/ball.hpp"

namespace assay::reference::formula {

/// The sums of products sum_k x_k y_k in doubles. Each is off by at most
///   gamma_m sum |x_k y_k| + sum ((|x_k| + r_k) s_k + |y_k| r_k),   gamma_m = m u / (1 - m u),
/// where m roundings lie between a term and its sum, and r and s are the radii of x and y (Higham, "Accuracy and
/// Stability of Numerical Algorithms", sections 3.1 and 4.2), and by less than a subnormal number for each operation
/// that underflows. Nothing where an operand is not finite, or sums are short. `at`: where there is a sum;
/// elsewhere is 0.
std::optional<reals<double_ball>> contracted_by_bounds(const reals<double_ball>& x, const reals<double_ball>& y,
                                                       const contracted_places& places, const truths* at = nullptr);

}  // namespace assay::reference::formula
