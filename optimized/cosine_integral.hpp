// The curve of decay of sinusoidal encodings, by the cosine integral Ci and its entire part Cin = gamma + log - Ci.
#pragma once

namespace assay::optimized {

/// [Ci(|s|) - Ci(|s|/base)] / log(base), 1 for s = 0. Within 2^-51 for every finite s and base >= 20 (measured:
/// properties/tests/sinusoidal_hazards_test.cpp); NaN for NaN.
double decay_at(double s, double base);

/// Its derivative (cos s - cos(s/base)) / (s log(base)), 0 for s = 0; a few units of the last place of its factors'
/// product, whatever s, but where a sine of that product is near a zero of its own.
double decay_slope_at(double s, double base);

}  // namespace assay::optimized
