// tanh(x) = sigmoid(2x) - sigmoid(-2x).
#pragma once

#include "reference/readings/differentiated.hpp"

namespace assay::reference {

namespace accuracy {
/// The relative error, in units of u: 1 ulp, as in libraries.
inline constexpr double tanh = 2;
}  // namespace accuracy

value tanh(const value& x);
enclosure tanh(const enclosure& x);
/// Near 0 its error is that of a number near 1, and does not shrink with x.
template <class Number>
ball<Number> tanh(const ball<Number>& x);
/// |dr| <= (1 - t^2) E_x + C_t |r| + tau, where t = tanh of the number nearest to 0 within the error of x.
tracked tanh(const tracked& x);
rounded tanh(const rounded& x);

/// 1 - tanh^2(x), without cancellation.
template <class R>
R tanh_slope(const R& x) {
  const auto weight = carry_weights(x + x);
  return R(4.0) * weight.w * weight.v;
}

template <carries_derivatives D>
D tanh(const D& x) {
  return D::made(tanh(x.number), D::by(x, [&] { return tanh_slope(x.number); }));
}

}  // namespace assay::reference
