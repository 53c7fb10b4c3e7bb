// The decay curve of sinusoidal encodings, from the cosine integral Ci and its entire part Cin = gamma + log - Ci.
#pragma once

namespace assay::optimized {

/// Returns [Ci(|s|) - Ci(|s|/base)] / log(base), or 1 for s = 0. The error is at most 2^-51 for every finite s and base
/// >= 20 (measured: properties/encodings/sinusoidal/tests/formula_test.cpp). The result is NaN for NaN.
double decay_at(double s, double base);

/// Returns the derivative of decay_at in s, (cos s - cos(s/base)) / (s log(base)), or 0 for s = 0, for base >= 20. The
/// error is at most 13 2^-53 of the result for |s| <= 1, and at most (11 + |s|/base) 2^-53 / (|s| log(base)) beyond.
/// This bound counts the rounding of each operation, C library functions within 1 ulp, and the effect of the rounding
/// of s/base on its cosine (checked by the same test). The result is NaN for NaN.
double decay_slope_at(double s, double base);

}  // namespace assay::optimized
