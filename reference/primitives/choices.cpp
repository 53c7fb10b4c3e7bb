#include "reference/primitives/choices.hpp"

#include "reference/readings/all.hpp"

namespace assay::reference {

boost::tribool less(const value& x, const value& y) { return x.number < y.number; }
value either(boost::tribool condition, const value& x, const value& y) { return condition ? x : y; }
value larger(const value& x, const value& y) {
  if (is_nan(x) || is_nan(y)) return x + y;
  return x.number < y.number ? y : x;
}
value floor(const value& x) { return value(value::real(boost::multiprecision::floor(x.number))); }
bool is_positive(const value& x) { return x.number > 0; }

// Enclosures.

boost::tribool less(const enclosure& x, const enclosure& y) {
  if (x.is_nan() || y.is_nan()) return false;
  const int order = mpfr_cmp(x.high(), y.low());
  if (order < 0 || (order == 0 && (x.high_open() || y.low_open()))) return true;
  if (mpfr_greaterequal_p(x.low(), y.high()) != 0) return false;
  return boost::indeterminate;
}

enclosure either(boost::tribool condition, const enclosure& x, const enclosure& y) {
  if (!boost::indeterminate(condition)) return condition ? x : y;
  if (x.is_nan() && y.is_nan()) return x;
  if (x.is_nan() || y.is_nan()) return enclosure::unknown();
  enclosure r;
  const int low = mpfr_cmp(x.low(), y.low()), high = mpfr_cmp(x.high(), y.high());
  mpfr_set(r.left(), low <= 0 ? x.low() : y.low(), MPFR_RNDD);
  mpfr_set(r.right(), high >= 0 ? x.high() : y.high(), MPFR_RNDU);
  return r.with_open_ends((low > 0 || x.low_open()) && (low < 0 || y.low_open()),
                          (high < 0 || x.high_open()) && (high > 0 || y.high_open()));
}

enclosure larger(const enclosure& x, const enclosure& y) {
  if (x.is_nan() || y.is_nan()) return x + y;
  if (x.is_unknown() || y.is_unknown()) return enclosure::unknown();
  enclosure r;
  const int low = mpfr_cmp(x.low(), y.low()), high = mpfr_cmp(x.high(), y.high());
  mpfr_set(r.left(), low >= 0 ? x.low() : y.low(), MPFR_RNDD);
  mpfr_set(r.right(), high >= 0 ? x.high() : y.high(), MPFR_RNDU);
  // The end comes from the larger one; where both have this end, the low end is open if one of them is open.
  return r.with_open_ends(low > 0   ? x.low_open()
                          : low < 0 ? y.low_open()
                                    : x.low_open() || y.low_open(),
                          high > 0   ? x.high_open()
                          : high < 0 ? y.high_open()
                                     : x.high_open() && y.high_open());
}

enclosure floor(const enclosure& x) {
  if (x.is_nan() || x.is_unknown()) return x;
  enclosure r;
  mpfr_rint_floor(r.left(), x.low(), MPFR_RNDD);
  mpfr_rint_floor(r.right(), x.high(), MPFR_RNDU);
  if (x.high_open() && mpfr_integer_p(x.high()) != 0) mpfr_sub_ui(r.right(), r.right(), 1, MPFR_RNDU);
  return r;
}

// Allowances.

namespace {

// An increasing function without roundings, computed from its values at the ends of the range of x.
template <class Function>
tracked step_function(const tracked& x, Function f) {
  const double r = f(x.number), reach = tracked::u() * x.error;
  if (reach == 0.0) return tracked(r);
  if (std::isnan(reach)) return {r, reach};
  return {r, std::max(f(x.number + reach) - r, r - f(x.number - reach)) / tracked::u()};
}

}  // namespace

boost::tribool less(const tracked& x, const tracked& y) {
  const double margin = tracked::u() * (x.error + y.error);
  if (margin != 0.0 && !(std::fabs(x.number - y.number) > margin)) return boost::indeterminate;
  return x.number < y.number;
}
tracked either(boost::tribool condition, const tracked& x, const tracked& y) {
  if (!boost::indeterminate(condition)) return condition ? x : y;
  if (x.number == y.number) return {x.number, larger_error(x.error, y.error)};
  const tracked& finite = std::isfinite(x.number) ? x : y;
  const double apart = std::isfinite(x.number - y.number) ? std::fabs(x.number - y.number) / tracked::u()
                                                          : std::numeric_limits<double>::infinity();
  return {finite.number, larger_error(x.error, y.error) + apart};
}
/// |max(x, y) - max(x', y')| <= max(|x - x'|, |y - y'|). Where one is certainly the larger, the error is that of this
/// one.
tracked larger(const tracked& x, const tracked& y) {
  if (std::isnan(x.number) || std::isnan(y.number)) return tracked(x.number + y.number);
  const boost::tribool below = less(x, y);
  if (!boost::indeterminate(below)) return below ? y : x;
  return {std::max(x.number, y.number), larger_error(x.error, y.error)};
}
tracked floor(const tracked& x) {
  return step_function(x, [](double y) { return std::floor(y); });
}

// Plain arithmetic.

boost::tribool less(const rounded& x, const rounded& y) { return x.number < y.number; }
rounded either(boost::tribool condition, const rounded& x, const rounded& y) { return condition ? x : y; }
rounded larger(const rounded& x, const rounded& y) {
  if (std::isnan(x.number) || std::isnan(y.number)) return rounded(x.number + y.number);
  return x.number < y.number ? y : x;
}
rounded floor(const rounded& x) { return rounded(std::floor(x.number)); }
bool is_positive(const rounded& x) { return x.number > 0.0; }

// Balls.

template <class Number>
boost::tribool less(const ball<Number>& x, const ball<Number>& y) {
  if (x.is_nan() || y.is_nan()) return false;
  if (x.is_unknown() || y.is_unknown()) return boost::indeterminate;
  if (x.is_infinite() || y.is_infinite()) return leading(x.centre) < leading(y.centre);
  const ball<Number> apart = y - x;
  if (apart.is_positive()) return true;
  if (apart.is_negative() || apart.is_exact_zero()) return false;
  return boost::indeterminate;
}

template <class Number>
ball<Number> either(boost::tribool condition, const ball<Number>& x, const ball<Number>& y) {
  if (!boost::indeterminate(condition)) return condition ? x : y;
  if (x.is_nan() && y.is_nan()) return x;
  if (!x.is_finite() || !y.is_finite()) return ball<Number>::unknown();
  return {x.centre, rounded_up((y - x).largest() + x.radius)};
}

template <class Number>
ball<Number> larger(const ball<Number>& x, const ball<Number>& y) {
  if (x.is_nan() || y.is_nan()) return ball<Number>::nan();
  const boost::tribool below = less(x, y);
  if (!boost::indeterminate(below)) return below ? y : x;
  if (!x.is_finite() || !y.is_finite()) return ball<Number>::unknown();
  return {leading(x.centre) < leading(y.centre) ? y.centre : x.centre,
          rounded_up(std::max(x.radius, y.radius) + std::fabs(trailing(x.centre)) + std::fabs(trailing(y.centre)))};
}

namespace {

// An increasing function of doubles, applied at the ends of the ball.
template <class Number, class Function>
ball<Number> ball_of_ends(const ball<Number>& x, Function f) {
  if (!x.is_finite()) return x;
  const double c = leading(x.centre),
               reach = rounded_up(std::fabs(trailing(x.centre)) + x.radius + 0x1p-52 * std::fabs(c));
  const double exact = trailing(x.centre) == 0.0 && x.radius == 0.0 ? 0.0 : reach;
  const double low = f(c - exact), high = f(c + exact), middle = low + (high - low) / 2.0;
  return {Number(middle), low == high ? 0.0 : rounded_up(high - low)};
}

}  // namespace

template <class Number>
ball<Number> floor(const ball<Number>& x) {
  return ball_of_ends(x, [](double end) { return std::floor(end); });
}

template boost::tribool less(const double_ball&, const double_ball&);
template boost::tribool less(const two_double_ball&, const two_double_ball&);
template double_ball either(boost::tribool, const double_ball&, const double_ball&);
template two_double_ball either(boost::tribool, const two_double_ball&, const two_double_ball&);
template double_ball larger(const double_ball&, const double_ball&);
template two_double_ball larger(const two_double_ball&, const two_double_ball&);
template double_ball floor(const double_ball&);
template two_double_ball floor(const two_double_ball&);

}  // namespace assay::reference
