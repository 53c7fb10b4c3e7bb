// Frequencies theta of sinusoidal and rotary encodings.
//
// A single rounding of m theta costs m theta 2^-53. At position 2^31 this is more than a unit in the last place of f32.
// A frequency therefore has two parts; rotations.hpp finds the cosine and the sine of m theta from both.
#pragma once

namespace assay::optimized {

/// The value high + low, accurate to about 106 bits.
struct frequency {
  double high = 0, low = 0;
};

/// Returns base^(-p / q), for base > 0 and q > 0. The value has more than 110 bits before it is split into two parts.
///
///     const frequency theta = geometric_frequency(10000.0, 2, 64);  // of pair 1 of 32
frequency geometric_frequency(double base, long p, long q);
/// Returns (p / q)^alpha, for p >= 0, q > 0 and alpha > 0. The value has more than 110 bits before it is split into two
/// parts.
///
///     const frequency theta = power_frequency(2.0, 3, 8);
frequency power_frequency(double alpha, long p, long q);

}  // namespace assay::optimized
