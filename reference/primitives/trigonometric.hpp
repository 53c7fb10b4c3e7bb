// sin(x) and cos(x) with a full range reduction. Special values: NaN at infinities.
#pragma once

#include "reference/primitives/readings.hpp"

namespace assay::reference {

namespace accuracy {
/// The relative error, in units of u, of sin and cos with a full range reduction: 1 ulp.
inline constexpr double sin = 2;
}  // namespace accuracy

value sin(const value& x);
enclosure sin(const enclosure& x);
/// For |x| beyond 2^40 only one thing is claimed: the result lies in [-1, 1].
template <class Number>
ball<Number> sin(const ball<Number>& x);
/// If the angle has an error e = u E_x: |dr| <= min(|cos x| e + e^2 / 2, 2) + C_s |r| u + tau u.
tracked sin(const tracked& x);
rounded sin(const rounded& x);

value cos(const value& x);
enclosure cos(const enclosure& x);
template <class Number>
ball<Number> cos(const ball<Number>& x);
/// The same bound as for sin, with the slope |sin x|.
tracked cos(const tracked& x);
rounded cos(const rounded& x);

}  // namespace assay::reference
