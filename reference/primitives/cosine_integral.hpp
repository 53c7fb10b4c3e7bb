// The entire cosine integral Cin(x) = integral of (1 - cos t) / t from 0 to x = gamma + log|x| - Ci(|x|) (DLMF 6.2.12).
// It is even; it is 0 at 0, infinite at infinity, NaN at NaN.
#pragma once

#include "reference/primitives/readings.hpp"

namespace assay::reference {

namespace accuracy {
/// The error of gamma + log|x| - Ci(|x|), in units of u of the sum of the magnitudes of these terms: about 2 ulp.
inline constexpr double cosine_integral = 4;
}  // namespace accuracy

/// The value in double, rounded to nearest except for about one in 2^27 of all arguments.
double entire_cosine_integral(double x);

value entire_cosine_integral(const value& x);
/// The function increases in |x|. Whether an end is attained is not known.
enclosure entire_cosine_integral(const enclosure& x);
/// Unknown except at 0 and infinity: intervals decide.
template <class Number>
ball<Number> entire_cosine_integral(const ball<Number>& x);
/// Computed as gamma + log|x| - Ci(|x|), the form with the larger error. The slope (1 - cos x) / x counts as its bound
/// 2 / |x|, and as 1 at 0.
tracked entire_cosine_integral(const tracked& x);
rounded entire_cosine_integral(const rounded& x);

}  // namespace assay::reference
