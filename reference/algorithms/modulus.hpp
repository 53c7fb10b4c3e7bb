// |z| of z = x + iy, and its slopes x / |z| and y / |z|, which are 0 at z = 0. There the modulus has no gradient, and 0
// is the subgradient that PyTorch gives complex numbers (sgn). A square root that is differentiated at 0 gives NaN.
//
// Two ways to compute it are in use: sqrt(x^2 + y^2), whose squares overflow and underflow, and one that scales, max
// sqrt(1 + (min / max)^2). The allowance covers both, with 3.25 u. The square of the quotient is at most 1 and has 3 u,
// so its sum with 1 has at most 2.5 u, and the root halves this. The root and the product add one u each. The sum of
// squares has u from each square and one more under the root, which is less. Nothing is known where squares overflow.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/readings/differentiated.hpp"
#include "reference/readings/tracked.hpp"

namespace assay::reference {

template <class R>
R modulus_of(const R& x, const R& y) {
  return power(larger(x * x + y * y, R(0.0)), ratio(1, 2));  // the lower end of a square's interval may be below 0
}
template <class R>
R modulus_slope(const R& x, const R&, const R& modulus) {
  const bool is_nan = std::isnan(to_double(modulus));
  return either(is_nan ? boost::tribool(true) : less(R(0.0), modulus), x / modulus, R(0.0));
}

/// The largest loss of the squares of x and y by underflow.
inline double lost_squares() { return 2.0 * tracked::u() * tracked::tau(); }
/// The length changes by (|x| E_x + |y| E_y) / |z| and a term of second order, and by no more than E_x + E_y. A loss in
/// the squares changes the root by less than lost / |z|, and by less than sqrt(lost).
inline tracked modulus_of(const tracked& x, const tracked& y) {
  const double a = std::fabs(x.number), b = std::fabs(y.number), most = std::max(a, b), u = tracked::u();
  if (!std::isfinite(a + b)) return tracked(a + b);
  // std::hypot is not used: with it the program would need glibc 2.35 (see tools/wheel).
  const double share = most > 0.0 ? std::min(a, b) / most : 0.0, z = most * std::sqrt(1.0 + share * share);
  double error = x.error + y.error;
  if (z > 0.0) {
    const double second = u * (propagate(x.error, x.error) + propagate(y.error, y.error)) / (2.0 * z);
    error = std::min(error, (propagate(a, x.error) + propagate(b, y.error)) / z + second);
  }
  const double furthest = z + u * error, lost = z > 0.0 || error > 0.0 ? lost_squares() : 0.0;
  if (furthest * furthest > core::largest_finite(arithmetic().type)) error = std::numeric_limits<double>::infinity();
  const double underflow = z * z > lost ? lost / z : std::sqrt(lost);
  return {z, error + 3.25 * z + underflow / u};
}
/// If two vectors are s |z| apart, their directions are no more than 2 sin(asin(s) / 2) <= sqrt(2) s apart, or 2 where
/// s > 1. The modulus (3.25 u), the quotient and a product with the cotangent round. A loss of squares changes the
/// modulus by a share lost / |z|^2, or makes it 0: then 0 is right, and an infinity or NaN is not.
inline tracked modulus_slope(const tracked& x, const tracked& y, const tracked& modulus) {
  const double z = modulus.number, u = tracked::u();
  if (std::isnan(z)) return tracked(z);
  if (z == 0.0) return {0.0, x.error + y.error > 0.0 ? 2.0 / u : 0.0};
  const double s = u * (x.error + y.error) / z, turned = s <= 1.0 ? std::sqrt(2.0) * s : 2.0;
  const double shrunk = z * z > 2.0 * lost_squares() ? lost_squares() / (z * z) : 3.0, share = x.number / z;
  const bool overflows = std::isinf(modulus.error);
  return {share, overflows ? modulus.error : (turned + shrunk) / u + 5.25 * std::fabs(share) + tracked::tau()};
}

template <carries_derivatives D>
D modulus_of(const D& x, const D& y) {
  const auto z = modulus_of(x.number, y.number);
  return D::made(z, D::by(x, [&] { return modulus_slope(x.number, y.number, z); }),
                 D::by(y, [&] { return modulus_slope(y.number, x.number, z); }));
}

}  // namespace assay::reference
