#include "reference/primitives/constants.hpp"

#include <boost/math/constants/constants.hpp>
#include <numbers>

#include "reference/readings/all.hpp"

namespace assay::reference {

template <>
value pi<value>() {
  return value(boost::math::constants::pi<value::real>());
}
template <>
enclosure pi<enclosure>() {
  enclosure r;
  mpfi_const_pi(r.data());
  return r;
}
// pi = 3.14159... + 1.2246...e-16 - 2.99...e-33: the part that each ball leaves out is below its radius.
template <>
double_ball pi<double_ball>() {
  return {std::numbers::pi, 1.3e-16};
}
template <>
two_double_ball pi<two_double_ball>() {
  return {two_double{std::numbers::pi, 0x1.1a62633145c07p-53}, 3e-33};
}
// Rounding pi to the working format errs by at most half an ulp, which is at most u pi.
template <>
tracked pi<tracked>() {
  return {std::numbers::pi, std::numbers::pi};
}
template <>
rounded pi<rounded>() {
  return rounded(std::numbers::pi);
}

}  // namespace assay::reference
