// The curve of decay of sinusoidal encodings, by the cosine integral Ci and its entire part Cin = gamma + log - Ci.
#pragma once

namespace assay::optimized {

/// [Ci(|s|) - Ci(|s|/base)] / log(base), 1 for s = 0. Within 2^-51 for every finite s and base >= 20 (measured:
/// properties/encodings/sinusoidal/tests/formula_test.cpp); NaN for NaN.
double decay_at(double s, double base);

/// Its derivative (cos s - cos(s/base)) / (s log(base)), 0 for s = 0, base >= 20. Within 13 2^-53 of its size for
/// |s| <= 1, and within (11 + |s|/base) 2^-53 / (|s| log(base)) beyond: the roundings of each operation, with functions
/// of the C library within 1 ulp and s/base moving its cosine (checked by the same test). NaN for NaN.
double decay_slope_at(double s, double base);

}  // namespace assay::optimized
