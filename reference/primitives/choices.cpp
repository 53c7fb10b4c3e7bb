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
value clamp(const value& x, double low, double high) {
  return x.number < low ? value(low) : x.number > high ? value(high) : x;
}
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
  if (x.is_nan() || y.is_nan()) return enclosure::whole_line();
  enclosure r;
  const int low = mpfr_cmp(x.low(), y.low()), high = mpfr_cmp(x.high(), y.high());
  mpfr_set(r.left(), low <= 0 ? x.low() : y.low(), MPFR_RNDD);
  mpfr_set(r.right(), high >= 0 ? x.high() : y.high(), MPFR_RNDU);
  return r.with_open_ends((low > 0 || x.low_open()) && (low < 0 || y.low_open()),
                          (high < 0 || x.high_open()) && (high > 0 || y.high_open()));
}

enclosure larger(const enclosure& x, const enclosure& y) {
  if (x.is_nan() || y.is_nan()) return x + y;
  enclosure r;
  const int low = mpfr_cmp(x.low(), y.low()), high = mpfr_cmp(x.high(), y.high());
  mpfr_set(r.left(), low >= 0 ? x.low() : y.low(), MPFR_RNDD);
  mpfr_set(r.right(), high >= 0 ? x.high() : y.high(), MPFR_RNDU);
  // The end is that of the larger one; where both have it, one that excludes it is enough for the low end.
  return r.with_open_ends(low > 0   ? x.low_open()
                          : low < 0 ? y.low_open()
                                    : x.low_open() || y.low_open(),
                          high > 0   ? x.high_open()
                          : high < 0 ? y.high_open()
                                     : x.high_open() && y.high_open());
}

enclosure floor(const enclosure& x) {
  if (x.is_nan()) return x;
  enclosure r;
  mpfr_rint_floor(r.left(), x.low(), MPFR_RNDD);
  mpfr_rint_floor(r.right(), x.high(), MPFR_RNDU);
  if (x.high_open() && mpfr_integer_p(x.high()) != 0) mpfr_sub_ui(r.right(), r.right(), 1, MPFR_RNDU);
  return r;
}

enclosure clamp(const enclosure& x, double low, double high) {
  if (x.is_nan()) return x;
  // An end that meets the other limit is attained: below or at `low` everything becomes `low`.
  if (mpfr_cmp_d(x.high(), low) <= 0) return enclosure(low);
  if (mpfr_cmp_d(x.low(), high) >= 0) return enclosure(high);
  enclosure r(x);
  bool low_open = x.low_open(), high_open = x.high_open();
  if (mpfr_cmp_d(x.low(), low) < 0) {
    mpfr_set_d(r.left(), low, MPFR_RNDD);
    low_open = false;
  }
  if (mpfr_cmp_d(x.high(), high) > 0) {
    mpfr_set_d(r.right(), high, MPFR_RNDU);
    high_open = false;
  }
  return r.with_open_ends(low_open, high_open);
}

// Allowances.

namespace {

// An increasing function without roundings, from its values at the ends of where x may be.
template <class Function>
tracked of_step(const tracked& x, Function f) {
  const double r = f(x.number), reach = tracked::u() * x.error;
  if (!(reach > 0.0)) return tracked(r);
  return {r, std::max(f(x.number + reach) - r, r - f(x.number - reach)) / tracked::u()};
}

}  // namespace

boost::tribool less(const tracked& x, const tracked& y) {
  const double margin = tracked::u() * (x.error + y.error);
  if (margin > 0.0 && !(std::fabs(x.number - y.number) > margin)) return boost::indeterminate;
  return x.number < y.number;
}
tracked either(boost::tribool condition, const tracked& x, const tracked& y) {
  if (!boost::indeterminate(condition)) return condition ? x : y;
  if (x.number == y.number) return {x.number, std::max(x.error, y.error)};
  const tracked& finite = std::isfinite(x.number) ? x : y;
  const double apart = std::isfinite(x.number - y.number) ? std::fabs(x.number - y.number) / tracked::u()
                                                          : std::numeric_limits<double>::infinity();
  return {finite.number, std::max(x.error, y.error) + apart};
}
/// |max(x, y) - max(x', y')| <= max(|x - x'|, |y - y'|), and no more than the error of the one that is larger beyond
/// doubt.
tracked larger(const tracked& x, const tracked& y) {
  if (std::isnan(x.number) || std::isnan(y.number)) return tracked(x.number + y.number);
  const boost::tribool below = less(x, y);
  if (!boost::indeterminate(below)) return below ? y : x;
  return {std::max(x.number, y.number), std::max(x.error, y.error)};
}
tracked floor(const tracked& x) {
  return of_step(x, [](double at) { return std::floor(at); });
}
tracked clamp(const tracked& x, double low, double high) {
  const auto clamped = [=](double at) { return at < low ? low : at > high ? high : at; };
  tracked r = of_step(x, clamped);
  const double reach = tracked::u() * x.error;
  if (x.number - reach < low) r.error += tracked::from_double(low).error;
  if (x.number + reach > high) r.error += tracked::from_double(high).error;
  return r;
}

// Plain arithmetic.

boost::tribool less(const rounded& x, const rounded& y) { return x.number < y.number; }
rounded either(boost::tribool condition, const rounded& x, const rounded& y) { return condition ? x : y; }
rounded larger(const rounded& x, const rounded& y) {
  if (std::isnan(x.number) || std::isnan(y.number)) return rounded(x.number + y.number);
  return x.number < y.number ? y : x;
}
rounded floor(const rounded& x) { return rounded(std::floor(x.number)); }
rounded clamp(const rounded& x, double low, double high) {
  return x.number < low ? rounded(low) : x.number > high ? rounded(high) : x;
}
bool is_positive(const rounded& x) { return x.number > 0.0; }

// Dual numbers.

boost::tribool less(const tangent& x, const tangent& y) { return less(x.number, y.number); }
tangent either(boost::tribool condition, const tangent& x, const tangent& y) { return condition ? x : y; }
tangent larger(const tangent& x, const tangent& y) { return x.number.number < y.number.number ? y : x; }
tangent floor(const tangent& x) { return tangent(floor(x.number)); }
tangent clamp(const tangent& x, double low, double high) {
  return x.number.number < low || x.number.number > high ? tangent(clamp(x.number, low, high)) : x;
}

}  // namespace assay::reference
