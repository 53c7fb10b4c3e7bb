// The modulus |z| of z = x + iy, and its slopes x / |z| and y / |z|, which are 0 at z = 0. There the modulus has no
// gradient, and 0 is the subgradient that PyTorch takes for complex numbers (torch.sgn). A square root that is
// differentiated at 0 gives NaN.
//
// Two ways to compute |z| are in use: sqrt(x^2 + y^2), whose squares overflow and underflow, and max sqrt(1 + (min /
// max)^2), which scales. Here min and max are the smaller and the larger one of |x| and |y|. The allowance of 3.25 u
// covers both ways.
//
// The way that scales: the square of the quotient is at most 1 and has an error of 3 u. Its sum with 1 has at most
// 2.5 u, and the root halves this. The root and the product add one u each. The way by squares: each square has an
// error of u, and so has their sum. The root halves these 2 u and adds one u, which is less. Where squares overflow,
// the allowance is infinite.
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
/// Errors E_x of x and E_y of y change |z| by (|x| E_x + |y| E_y) / |z| and a term of second order, and by no more than
/// E_x + E_y. If the squares lose `lost` by underflow, the root changes by less than lost / |z|, and by less than
/// sqrt(lost).
inline tracked modulus_of(const tracked& x, const tracked& y) {
  const double a = std::fabs(x.number), b = std::fabs(y.number), larger_part = std::max(a, b), u = tracked::u();
  if (!std::isfinite(a + b)) return tracked(a + b);
  // std::hypot is not used: with it the program would need glibc 2.35 (see tools/wheel).
  const double quotient = larger_part > 0.0 ? std::min(a, b) / larger_part : 0.0,
               length = larger_part * std::sqrt(1.0 + quotient * quotient);
  double error = x.error + y.error;
  if (length > 0.0) {
    const double second_order = u * (propagate(x.error, x.error) + propagate(y.error, y.error)) / (2.0 * length);
    error = std::min(error, (propagate(a, x.error) + propagate(b, y.error)) / length + second_order);
  }
  const double furthest = length + u * error, lost = length > 0.0 || error > 0.0 ? lost_squares() : 0.0;
  if (furthest * furthest > core::largest_finite(arithmetic().type)) error = std::numeric_limits<double>::infinity();
  const double underflow = length * length > lost ? lost / length : std::sqrt(lost);
  return {length, error + 3.25 * length + underflow / u};
}
/// If two vectors are s |z| apart, their directions are no more than 2 sin(asin(s) / 2) <= sqrt(2) s apart, or 2 where
/// s > 1. The modulus (3.25 u), the quotient and a product with the cotangent round. If the squares lose `lost` by
/// underflow, the modulus changes by a share of at most lost / |z|^2. If |z|^2 is at most 2 lost, a slope that is
/// computed with a modulus above 0 is at most 2 in magnitude, and no more than 3 from the truth. If it is computed with
/// the modulus 0, the slope 0 counts as right, and an infinity or NaN does not.
inline tracked modulus_slope(const tracked& x, const tracked& y, const tracked& modulus) {
  const double length = modulus.number, u = tracked::u();
  if (std::isnan(length)) return tracked(length);
  if (length == 0.0) return {0.0, x.error + y.error > 0.0 ? 2.0 / u : 0.0};
  const double s = u * (x.error + y.error) / length, turned = s <= 1.0 ? std::sqrt(2.0) * s : 2.0;
  const double square = length * length, change_by_loss = square > 2.0 * lost_squares() ? lost_squares() / square : 3.0,
               slope = x.number / length;
  const bool overflows = std::isinf(modulus.error);
  return {slope, overflows ? modulus.error : (turned + change_by_loss) / u + 5.25 * std::fabs(slope) + tracked::tau()};
}

template <carries_derivatives D>
D modulus_of(const D& x, const D& y) {
  const auto modulus = modulus_of(x.number, y.number);
  return D::made(modulus, D::by(x, [&] { return modulus_slope(x.number, y.number, modulus); }),
                 D::by(y, [&] { return modulus_slope(y.number, x.number, modulus); }));
}

}  // namespace assay::reference
