// erf(x) = 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
#pragma once

#include "reference/primitives/constants.hpp"
#include "reference/readings/differentiated.hpp"

namespace assay::reference {

namespace accuracy {
/// The relative error, in units of u: 2 ulp, as for CUDA's erff.
inline constexpr double erf = 4;
}  // namespace accuracy

value erf(const value& x);
enclosure erf(const enclosure& x);
/// MPFR computes the centre; the radius is multiplied by the largest slope in the ball.
template <class Number>
ball<Number> erf(const ball<Number>& x);
/// |dr| <= 2 / sqrt(pi) exp(-t^2) E_x + C_erf |r| + tau, where t is the number nearest to 0 within the error of x.
tracked erf(const tracked& x);
rounded erf(const rounded& x);

template <class R>
R erf_slope(const R& x) {
  return R(2.0) * exp(-(x * x)) / power(pi<R>(), {1, 2});
}

template <carries_derivatives D>
D erf(const D& x) {
  return D::made(erf(x.number), D::by(x, [&] { return erf_slope(x.number); }));
}

}  // namespace assay::reference
