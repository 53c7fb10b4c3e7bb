// Faults in how angles are turned into cosines and sines.
#pragma once

#include <cmath>

namespace assay::properties {

/// An angle less multiples of 2 pi as a single f32: good for small angles only.
template <class R>
R reduced_once(const R& x) {
  const double turns = std::nearbyint(x.number / (2 * M_PI));
  return x - R(turns) * R(static_cast<float>(2 * M_PI));
}

}  // namespace assay::properties
