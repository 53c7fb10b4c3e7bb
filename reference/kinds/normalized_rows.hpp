// Rows [., ., ., d] divided by their length, or by the root of the mean of their squares (Zhang and Sennrich 2019,
// "Root Mean Square Layer Normalization", arXiv 1910.07467, eq. 4): y = x r, r = 1 / sqrt(x . x + epsilon), or with the
// mean.
#pragma once

#include "reference/formula/recording.hpp"

namespace assay::reference {

enum class square_norm { sum, mean };

/// The sum or the mean of the products of two rows, as a column beside them.
formula::traced dot_of_rows(square_norm norm, const formula::traced& x, const formula::traced& y);

/// The normalised rows y. The derivative is recorded as r (dx - y (y . dx)), which has no power of r, and no product
/// with an x that is not normalised.
formula::traced over_root(square_norm norm, const formula::traced& x, const formula::traced& epsilon,
                          bool is_of_gradient);

}  // namespace assay::reference
