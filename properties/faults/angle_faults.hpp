// Faults in how angles are turned into cosines and sines.
#pragma once

#include <cmath>

namespace assay::properties {

/// An angle less multiples of 2 pi as a single f32: good for small angles only.
template <class R>
R reduced_once(const R& x) {
  const double turns = std::nearbyint(to_double(x) / (2 * M_PI));
  return x - R(turns) * R(static_cast<float>(2 * M_PI));
}

/// An angle less j pi, j an integer, and whether j is odd.
template <class R>
struct reduced_angle {
  R rest;
  bool turned;
};

/// By subtracting j times the parts of pi (Cody and Waite 1980) in the arithmetic of R, without regard to how long j
/// is: a part of 9 bits times j is exact in f32 only while j has 15.
template <class R>
reduced_angle<R> reduced_by_parts(const R& x) {
  constexpr double first = 0x1.92p+1, second = 0x1.fbp-11;                 // pi to 8 bits; the 9 bits behind them
  constexpr double third = M_PI - first - second, rest = 0x1.1a62633p-53;  // pi - M_PI
  const double j = std::nearbyint(to_double(x) / M_PI);
  R z = x;
  for (const double part : {first, second, third, rest}) z = z - R(j) * R(part);
  return {z, std::fmod(j, 2.0) != 0.0};
}

}  // namespace assay::properties
