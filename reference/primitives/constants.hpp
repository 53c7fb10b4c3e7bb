// Constants in formulas that no format represents exactly.
#pragma once

#include "reference/primitives/readings.hpp"

namespace assay::reference {

struct two_double;

/// pi in the reading R. For `rounded` it is the nearest number of the working format; for `tracked` it is the nearest
/// double, with the error of that rounding. In numbers that carry derivatives its derivative is 0.
template <class R>
R pi() {
  return R(pi<typename R::underlying>());
}
template <>
value pi<value>();
template <>
enclosure pi<enclosure>();
template <>
ball<double> pi<ball<double>>();
template <>
ball<two_double> pi<ball<two_double>>();
template <>
tracked pi<tracked>();
template <>
rounded pi<rounded>();

}  // namespace assay::reference
