// Numbers of the formulas that no format holds.
#pragma once

#include "reference/primitives/readings.hpp"

namespace assay::reference {

struct two_double;

/// pi in the reading R. `tracked` and `rounded`: the nearest number of the working format. Numbers that carry
/// derivatives have none in it.
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
