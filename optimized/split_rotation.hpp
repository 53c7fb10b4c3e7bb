// Cosine and sine of m theta to more digits than a double has: what a rotation in f64 needs to be rounded about once.
//
// The angle is a sum of two doubles (two-product, Dekker 1971). It is reduced by multiples of pi/2, of which three
// doubles are known (Cody and Waite 1980), then by multiples of 2^-7, whose cosines and sines stand in a table (Gal
// 1986), and the rest, at most 2^-8, goes into Taylor polynomials. MPFR takes over beyond 2^40.
#pragma once

#include <bit>
#include <cstdint>

#include "optimized/angles.hpp"

namespace assay::optimized {

/// Each number in two parts; the high ones have 26 bits, so that products with 26 bits of another double are exact.
struct split_rotation {
  double cosine_high, cosine_low, sine_high, sine_low;
};

/// cos and sin of position * theta, each within 2^-78 + 2^-105 |position * theta|, for all finite arguments with a
/// finite product. NaN otherwise.
split_rotation split_rotation_by(double position, frequency theta);

/// The first 26 bits of the significand of x; the rest of x less these is exact. Infinities and NaN as they are.
inline double first_bits(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~((std::uint64_t{1} << 27) - 1));
}

}  // namespace assay::optimized
