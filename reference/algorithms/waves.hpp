// e^(i angle), as its cosine and its sine. The angle is a sum of two angles, one of which grows with a position.
#pragma once

#include "reference/algorithms/frequencies.hpp"
#include "reference/formula/recording.hpp"

namespace assay::reference {

/// Complex numbers, or functions of them: real and imaginary parts.
struct complex_numbers {
  formula::traced re, im;
};

/// A bound on the products with which the addition theorem computes a sine: 3 |turned| for a position in two parts (as
/// in sine_of, frequencies.hpp), plus |phase|.
inline formula::traced size_of_sum(const formula::traced& turned, const formula::traced& phase) {
  return without_error(formula::traced(3.0) * magnitude_of(turned) + magnitude_of(phase));
}
/// e^(i angle) for a sum of this size. By the addition theorem its parts are sums of two products of cosines and sines
/// of the two angles.
inline complex_numbers wave_of_sum(const formula::traced& angle, const formula::traced& size) {
  using formula::traced;
  const traced none(0.0), one(1.0);
  const traced cosine = or_sum_of_products(cos(angle), either(equal(size, none), none, one)),
               sine = or_sum_of_products(sin(angle), either(less(size, one), size, one));
  return {with_slope(cosine, angle, -sine), with_slope(sine, angle, cosine)};
}
/// e^(i (turned + phase)).
inline complex_numbers wave_of(const formula::traced& turned, const formula::traced& phase) {
  return wave_of_sum(turned + phase, size_of_sum(turned, phase));
}

}  // namespace assay::reference
