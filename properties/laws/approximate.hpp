// Arithmetic of computed numbers with the errors that they are allowed: what identities between them need.
#pragma once

#include <cmath>

#include "properties/laws/measured.hpp"
#include "reference/readings/tracked.hpp"

namespace assay::properties {

/// A computed number and the error that it is allowed.
struct approximate {
  double value = 0, error = 0;
};
inline approximate operator+(approximate x, approximate y) {
  const double sum = x.value + y.value;
  return {sum, x.error + y.error + 0x1p-52 * std::fabs(sum)};
}
inline approximate operator-(approximate x) { return {-x.value, x.error}; }
inline approximate operator-(approximate x, approximate y) { return x + -y; }
/// An exact 0 silences even an unbounded error of the other factor.
inline approximate operator*(approximate x, approximate y) {
  using reference::propagate;
  const double product = x.value * y.value;
  return {product, propagate(std::fabs(x.value), y.error) + propagate(std::fabs(y.value), x.error) +
                       propagate(x.error, y.error) + 0x1p-52 * std::fabs(product)};
}
inline bool agree(approximate x, approximate y) { return agree(x.value, y.value, x.error + y.error); }
inline bool agree(comparisons& all, approximate x, approximate y, double scale = 0.0) {
  return all.agree(x.value, y.value, x.error + y.error, scale);
}

}  // namespace assay::properties
