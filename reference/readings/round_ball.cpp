#include "reference/readings/round_ball.hpp"

#include <cmath>
#include <limits>

namespace assay::reference {
namespace {

// high + low rounded to odd in double: from there any format of at most 51 bits rounds as from the number itself
// (Boldo and Melquiond 2008, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd").
double rounded_to_odd(double high, double low) {
  if (low == 0.0 || (core::to_bits(core::dtype::f64, high) & 1u) != 0) return high;
  return std::nextafter(high, std::copysign(std::numeric_limits<double>::infinity(), low));
}

// The number x + y, |y| small, in the format.
double rounded_sum(core::dtype type, double x, double y) {
  const exact_sum s(x, y);
  return type == core::dtype::f64 ? s.sum : core::round_to(type, rounded_to_odd(s.sum, s.error));
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
  // Just beside the centre: no rounding boundary of a truth that is not tiny lies closer to it.
  const bool is_tiny = std::fabs(c) < 0x1p-900;
  const double just_above = std::nextafter(rest, infinity), just_below = std::nextafter(rest, -infinity);
  const double below = rounded_sum(type, c, x.of_centre == side::above && !is_tiny ? just_above : rest - reach);
  const double above = rounded_sum(type, c, x.of_centre == side::below && !is_tiny ? just_below : rest + reach);
  rounding r{below == above ? below : rounded_sum(type, c, rest), 0.0, x.radius, below == above, false};
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
