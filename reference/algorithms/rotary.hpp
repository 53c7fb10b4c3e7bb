// Rotations of pairs of coordinates, their adjoint and the derivative in the angle.
#pragma once

#include <cstddef>

#include "reference/algorithms/frequencies.hpp"

namespace assay::reference {

/// Two coordinates that are rotated together.
template <class R>
struct coordinate_pair {
  R first, second;
};

template <class R>
coordinate_pair<R> turned(const coordinate_pair<R>& x, const rotation<R>& by) {
  return {x.first * by.cosine - x.second * by.sine, x.first * by.sine + x.second * by.cosine};
}
/// By minus the angle, of a cotangent.
template <class R>
coordinate_pair<R> turned_back(const coordinate_pair<R>& g, const rotation<R>& by) {
  return {charged(g.first * by.cosine) + charged(g.second * by.sine),
          charged(g.second * by.cosine) + charged(-(g.first * by.sine))};
}
/// g_second y_first - g_first y_second for y = turned(x, by): the derivative in the angle. In terms of x, as automatic
/// differentiation has it: what that adds up is no smaller.
template <class R>
R torque(const coordinate_pair<R>& x, const rotation<R>& by, const coordinate_pair<R>& g) {
  const R of_sine = charged(g.second * x.first) + charged(-(g.first * x.second));
  const R of_cosine = charged(g.first * x.first) + charged(g.second * x.second);
  return of_sine * charged(by.cosine) + of_cosine * charged(-by.sine);
}

/// Where the coordinates of a pair stand.
struct rotary_layout {
  std::size_t features, pairs;
  bool half_split;
  [[nodiscard]] std::size_t first(std::size_t t) const { return half_split ? t : 2 * t; }
  [[nodiscard]] std::size_t second(std::size_t t) const { return half_split ? t + pairs : 2 * t + 1; }
};

}  // namespace assay::reference
