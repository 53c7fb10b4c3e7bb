// Frequencies theta of sinusoidal and rotary encodings.
//
// One rounding of m theta costs m theta 2^-53, which at position 2^31 is more than a unit of f32's last place. So a
// frequency has two parts; rotations.hpp finds the cosine and sine of m theta from them.
#pragma once

namespace assay::optimized {

/// high + low, to about 106 bits.
struct frequency {
  double high = 0, low = 0;
};

/// base^(-p / q), base > 0, q > 0; to more than 110 bits first.
frequency geometric_frequency(double base, long p, long q);
/// (p / q)^alpha, p >= 0, q > 0, alpha > 0; to more than 110 bits first.
frequency power_frequency(double alpha, long p, long q);

}  // namespace assay::optimized
