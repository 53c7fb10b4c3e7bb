// log(x), x >= 0, and log1p(x) = log(1 + x), x >= -1. Special values: log(0) = log1p(-1) = -inf; NaN below the domain.
#pragma once

#include "reference/primitives/readings.hpp"

namespace assay::reference {

namespace accuracy {
/// The relative error, in units of u, of log and log1p: 1 ulp.
inline constexpr double log = 2;
}  // namespace accuracy

value log(const value& x);
enclosure log(const enclosure& x);
/// Unknown where the ball holds 0 and other numbers, and where its centre is above 2^929 or below 2^-929.
template <class Number>
ball<Number> log(const ball<Number>& x);
/// |dr| <= E_x / |x| + C_l |r|.
tracked log(const tracked& x);
rounded log(const rounded& x);

value log1p(const value& x);
enclosure log1p(const enclosure& x);
template <class Number>
ball<Number> log1p(const ball<Number>& x);
/// |dr| <= E_x / |1 + x| + C_l |r|.
tracked log1p(const tracked& x);
rounded log1p(const rounded& x);

}  // namespace assay::reference
