// exp(x). Special values: exp(-inf) = 0, exp(+inf) = +inf.
#pragma once

#include "reference/primitives/readings.hpp"

namespace assay::reference {

namespace accuracy {
/// The relative error of an implementation's exp, in units of u, that every allowance grants: libraries are within 1
/// ulp, which is at most 2 u.
inline constexpr double exp = 2;
}  // namespace accuracy

value exp(const value& x);
enclosure exp(const enclosure& x);
/// Over a radius r, e^c changes by less than e^c r (1 + r).
template <class Number>
ball<Number> exp(const ball<Number>& x);
/// |dr| <= r growth(E_x) + C_e r + tau.
tracked exp(const tracked& x);
rounded exp(const rounded& x);

}  // namespace assay::reference
