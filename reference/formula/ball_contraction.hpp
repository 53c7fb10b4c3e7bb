// Contractions of balls with one bound for each sum: many times faster than ball by ball, and hardly wider.
#pragma once

#include <optional>

#include "reference/formula/arrays.hpp"
#include "reference/readings/ball.hpp"

namespace assay::reference::formula {

/// The sums of products sum_k x_k y_k. In doubles the error of each is at most
///   gamma_m sum |x_k y_k| + sum ((|x_k| + r_k) s_k + |y_k| r_k),   gamma_m = m u / (1 - m u),
/// plus less than a subnormal number for each operation that underflows. Here m roundings lie between a term and its
/// sum, and r and s are the radii of x and y (Higham, "Accuracy and Stability of Numerical Algorithms", sections 3.1
/// and 4.2). In two doubles the rounding errors are known: products and sums are split without error (Ogita, Rump and
/// Oishi 2005, "Accurate sum and dot product"), and a sum is exact where nothing is lost.
/// Nothing where an operand is not finite, or where sums have fewer than 8 or more than 2^20 terms. `mask` says where a
/// sum exists; elsewhere the result is 0.
template <class Number>
std::optional<reals<ball<Number>>> contracted_by_bounds(const reals<ball<Number>>& x, const reals<ball<Number>>& y,
                                                        const contracted_places& places, const truths* mask = nullptr);

}  // namespace assay::reference::formula
