#include "reference/readings/round_enclosure.hpp"

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::reference {
namespace {

// The side of the number on which the truth lies.
enum class truth_side { below = -1, exact = 0, above = 1 };

// `x` rounded to nearest in the format. A tie goes to the side on which the truth lies; it goes to even if x is the
// truth.
double round_end(core::dtype type, mpfr_srcptr x, truth_side truth) {
  if (mpfr_zero_p(x) != 0) return 0.0;
  if (mpfr_number_p(x) == 0) return mpfr_get_d(x, MPFR_RNDN);
  const core::float_format f = core::format_of(type);
  const long exponent = mpfr_get_exp(x) - 1;
  if (exponent > f.max_exponent) return std::copysign(std::numeric_limits<double>::infinity(), mpfr_sgn(x));
  const long quantum = std::max<long>(exponent, f.min_exponent) - (f.precision - 1);
  if (exponent < quantum - 1) return std::copysign(0.0, mpfr_sgn(x));

  mpfr_scratch scaled(mpfr_get_prec(x) + 1), whole(mpfr_get_prec(x) + 1);
  mpfr_mul_2si(scaled, x, -quantum, MPFR_RNDN);
  mpfr_floor(whole, scaled);
  mpfr_sub(scaled, scaled, whole, MPFR_RNDN);  // the fraction: exact
  const double below = mpfr_get_d(whole, MPFR_RNDN);
  const int order = mpfr_cmp_d(scaled, 0.5);
  const bool up = order != 0                   ? order > 0
                  : truth != truth_side::exact ? truth == truth_side::above
                                               : std::fmod(below, 2.0) != 0.0;
  const double result = std::ldexp(up ? below + 1.0 : below, static_cast<int>(quantum));
  return std::fabs(result) > core::largest_finite(type) ? std::copysign(std::numeric_limits<double>::infinity(), result)
                                                        : result;
}

// The larger distance of the two ends from value + low, rounded up: where it underflows it is the smallest subnormal,
// not 0.
double distance_bound(const enclosure& x, double value, double low) {
  mpfr_scratch above(x.precision() + 64), below(x.precision() + 64);
  mpfr_sub_d(above, x.high(), value, MPFR_RNDU);
  mpfr_sub_d(above, above, low, MPFR_RNDU);
  mpfr_d_sub(below, value, x.low(), MPFR_RNDU);
  mpfr_add_d(below, below, low, MPFR_RNDU);
  return std::max(0.0, std::max(mpfr_get_d(above, MPFR_RNDU), mpfr_get_d(below, MPFR_RNDU)));
}

// Finds `low` of an enclosure whose ends both round to r.value (`value` is 0 where r.value overflowed). It is proved
// where both ends less `value` round to the same double.
void round_rest(const enclosure& x, double value, rounding& r) {
  mpfr_scratch from_low(x.precision() + 64), from_high(x.precision() + 64);
  const bool exact =
      mpfr_sub_d(from_low, x.low(), value, MPFR_RNDN) == 0 && mpfr_sub_d(from_high, x.high(), value, MPFR_RNDN) == 0;
  const double low = round_end(core::dtype::f64, from_low, x.low_open() ? truth_side::above : truth_side::exact);
  const double high = round_end(core::dtype::f64, from_high, x.high_open() ? truth_side::below : truth_side::exact);
  r.low_decided = r.decided && exact && low == high;
  if (r.low_decided) r.low = low + 0.0;  // one kind of zero, whatever its sign was
}

// Whether x is finite and lies beyond the largest double, by at most overflow_reach of it.
bool is_just_beyond(const enclosure& x) {
  constexpr double largest = std::numeric_limits<double>::max();
  mpfr_scratch furthest(x.precision() + 64);
  mpfr_set_d(furthest, overflow_reach, MPFR_RNDN);
  mpfr_add_ui(furthest, furthest, 1, MPFR_RNDN);
  mpfr_mul_d(furthest, furthest, largest, MPFR_RNDN);
  return mpfr_cmpabs(x.low(), furthest) <= 0 && mpfr_cmpabs(x.high(), furthest) <= 0 &&
         (mpfr_cmp_d(x.low(), largest) > 0 || mpfr_cmp_d(x.high(), -largest) < 0);
}

}  // namespace

rounding round_enclosure(core::dtype type, const enclosure& x) {
  if (x.is_nan()) return {std::numeric_limits<double>::quiet_NaN(), 0.0, 0.0, true, true};
  const double from_low = round_end(type, x.low(), x.low_open() ? truth_side::above : truth_side::exact);
  const double from_high = round_end(type, x.high(), x.high_open() ? truth_side::below : truth_side::exact);
  rounding r{from_low, 0.0, 0.0, from_low == from_high, false};
  if (!x.is_finite()) {
    // An interval from a finite number to infinity may still contain finite numbers: the remainder is not known.
    r.low_decided = r.decided && mpfr_inf_p(x.low()) != 0 && mpfr_inf_p(x.high()) != 0;
    if (!r.decided) r.radius = std::numeric_limits<double>::infinity();
    return r;
  }
  const double value = std::isfinite(r.value) ? r.value : 0.0;
  mpfr_scratch middle(x.precision() + 64);
  mpfr_add(middle, x.low(), x.high(), MPFR_RNDN);
  mpfr_div_2ui(middle, middle, 1, MPFR_RNDN);
  mpfr_sub_d(middle, middle, value, MPFR_RNDN);
  r.low = mpfr_get_d(middle, MPFR_RNDN);
  round_rest(x, value, r);
  r.radius = std::isfinite(r.low) ? distance_bound(x, value, r.low) : 0.0;
  if (std::isinf(r.value) && is_just_beyond(x)) {
    r.low = std::copysign(std::numeric_limits<double>::max(), r.value);
    r.radius = 0.0;
  }
  return r;
}

}  // namespace assay::reference
