// Faults in the conversion of angles to cosines and sines.
#pragma once

#include <cmath>

#include "reference/formula/recording.hpp"

namespace assay::properties {

/// The nearest integer to x / unit. Its own roundings do not count.
inline reference::formula::traced nearest_multiple(const reference::formula::traced& x, double unit) {
  return floor(x / reference::formula::setting(unit) + reference::formula::traced(0.5));
}
/// An angle minus multiples of 2 pi, with 2 pi as a single f32: good only for small angles.
inline reference::formula::traced reduced_once(const reference::formula::traced& x) {
  using reference::formula::traced;
  return x - nearest_multiple(x, 2 * M_PI) * traced(static_cast<float>(2 * M_PI));
}

/// pi to 8 bits, the next 9 bits, the rest of M_PI, and pi - M_PI.
inline constexpr double parts_of_pi[] = {0x1.92p+1, 0x1.fbp-11, M_PI - 0x1.92p+1 - 0x1.fbp-11, 0x1.1a62633p-53};
/// Angles minus j pi with integers j, and whether j is odd.
struct reduced_angles {
  reference::formula::traced rest;
  reference::formula::traced_truth turned;
};
/// Reduction by subtraction of j times the parts of pi (Cody and Waite 1980), without regard to the length of j: a part
/// of 9 bits times j is exact in f32 only while j has 15 bits.
inline reduced_angles reduced_by_parts(const reference::formula::traced& x) {
  using reference::formula::traced;
  const traced j = nearest_multiple(x, M_PI), two(2.0);
  traced z = x;
  for (const double part : parts_of_pi) z = z - j * traced(part);
  return {z, !equal(j, two * floor(j / two))};
}

}  // namespace assay::properties
