#include "reference/readings/round_ball.hpp"

#include <cmath>
#include <limits>

namespace assay::reference {
namespace {

// high + low rounded to odd in double: any format of at most 51 bits rounds this number as it rounds the exact sum
// (Boldo and Melquiond 2008, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd").
double rounded_to_odd(double high, double low) {
  if (low == 0.0 || (core::to_bits(core::dtype::f64, high) & 1u) != 0) return high;
  return std::nextafter(high, std::copysign(std::numeric_limits<double>::infinity(), low));
}

// x + y, |y| small, rounded to the format. `beside`: the truth lies on that side of the sum, nearer than any boundary.
double rounded_sum(core::dtype type, double x, double y, side beside = side::both) {
  const exact_sum s(x, y);
  const double outwards = std::copysign(std::numeric_limits<double>::infinity(), static_cast<double>(beside));
  if (type != core::dtype::f64)
    return core::round_to(type, rounded_to_odd(s.sum, s.error == 0.0 && beside != side::both ? outwards : s.error));
  if (beside == side::both || s.error == 0.0 || (s.error > 0.0) != (outwards > 0.0)) return s.sum;
  const double next = std::nextafter(s.sum, outwards);
  return s.error == (next - s.sum) / 2.0 ? next : s.sum;  // a tie goes to the side of the truth
}

}  // namespace

template <class Number>
rounding round_ball(core::dtype type, const ball<Number>& x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (x.is_unknown()) return {0.0, 0.0, infinity, false, false};
  const double c = leading(x.centre), rest = trailing(x.centre);
  if (x.is_nan() || x.is_infinite()) return {c, 0.0, 0.0, true, false};
  // The sums of the low parts are rounded outwards.
  const double reach = x.radius == 0.0 ? 0.0 : x.radius + 0x1p-52 * (std::fabs(rest) + x.radius) + 0x1p-1074;
  // Near a tiny centre there may be a boundary nearer than the smallest double.
  const side beside = std::fabs(c) < 0x1p-900 ? side::both : x.side_of_centre;
  const double below = beside == side::above ? rounded_sum(type, c, rest, beside) : rounded_sum(type, c, rest - reach);
  const double above = beside == side::below ? rounded_sum(type, c, rest, beside) : rounded_sum(type, c, rest + reach);
  // A zero has the sign of the centre, and is positive where the truth is above 0 or its sign is not known.
  const double value = below == above && below == 0.0 && c == 0.0 && x.side_of_centre != side::below ? 0.0 : below;
  rounding r{below == above ? value : rounded_sum(type, c, rest), 0.0, x.radius, below == above, false};
  if (std::isfinite(r.value)) {
    const exact_sum low(c - r.value, rest);
    r.low = low.sum;
    r.radius = rounded_up(x.radius + std::fabs(low.error));
  } else {
    r.low = c;
    r.radius = rounded_up(x.radius + std::fabs(rest));
    if (type == core::dtype::f64) r.decided = false;
  }
  return r;
}

template rounding round_ball(core::dtype, const double_ball&);
template rounding round_ball(core::dtype, const two_double_ball&);

}  // namespace assay::reference
