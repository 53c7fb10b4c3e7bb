// exp(x). Special values: exp(-inf) = 0, exp(+inf) = +inf.
#pragma once

#include "reference/primitives/readings.hpp"

namespace assay::reference {

namespace accuracy {
/// The relative error, in units of u, that an implementation's exp is granted in every allowance: libraries are within
/// 1 ulp, which is at most 2 u.
inline constexpr double exp = 2;
}  // namespace accuracy

value exp(const value& x);
enclosure exp(const enclosure& x);
/// e^c moves by less than e^c r (1 + r).
template <class Number>
ball<Number> exp(const ball<Number>& x);
/// |dr| <= r growth(E_x) + C_e r + tau.
tracked exp(const tracked& x);
rounded exp(const rounded& x);

}  // namespace assay::reference
