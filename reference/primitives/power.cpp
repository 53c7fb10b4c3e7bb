#include "reference/primitives/power.hpp"

#include "reference/readings/all.hpp"

namespace assay::reference {

value power(const value& x, rational e) {
  return value(value::real(boost::multiprecision::pow(x.number, value::real(e.p) / value::real(e.q))));
}
value pow(const value& x, const value& e) { return value(value::real(boost::multiprecision::pow(x.number, e.number))); }

namespace {

// The interval from 0 to the upper end of x.
enclosure hull_with_zero(const enclosure& x) {
  enclosure r(x);
  mpfr_set_zero(r.left(), 1);
  return r.with_open_ends(false, x.high_open());
}

// 1 / x for x >= 0, where 1 / 0 is +inf.
enclosure reciprocal(const enclosure& x) {
  if (x.is_nan() || mpfr_sgn(x.low()) > 0) return enclosure(1.0) / x;
  enclosure r;
  mpfr_set_inf(r.right(), 1);
  if (x.is_zero())
    mpfr_set_inf(r.left(), 1);
  else
    mpfr_ui_div(r.left(), 1, x.high(), MPFR_RNDD);
  return r;
}

bool is_point(const enclosure& x) { return mpfr_equal_p(x.low(), x.high()) != 0; }
bool is_odd(mpfr_srcptr x) {
  mpfr_scratch half(mpfr_get_prec(x));
  mpfr_div_2ui(half, x, 1, MPFR_RNDN);
  return mpfr_integer_p(x) != 0 && mpfr_integer_p(half) == 0;
}

bool holds_no_integer(const enclosure& x) {
  mpfr_scratch above(x.precision());
  mpfr_rint_ceil(above, x.low(), MPFR_RNDU);
  return x.is_finite() && mpfr_greater_p(above, x.high()) != 0;
}

// The power of a zero or infinite base, or with an infinite exponent, by IEEE 754. The result is known where both signs
// of a zero of unknown sign give the same.
enclosure special_power(const enclosure& x, const enclosure& e) {
  enclosure r;
  mpfr_pow(r.left(), x.low(), e.low(), MPFR_RNDD);
  mpfr_pow(r.right(), x.high(), e.high(), MPFR_RNDU);
  const bool same = mpfr_equal_p(r.left(), r.right()) != 0 || (mpfr_nan_p(r.left()) != 0 && mpfr_nan_p(r.right()) != 0);
  return same ? r : enclosure::unknown();
}

}  // namespace

// The 0th power of every number is 1, also of NaN. An odd negative power of 0 is infinite with the sign of the zero.
enclosure power(const enclosure& x, rational e) {
  if (e.p == 0) return enclosure(1.0);
  if (x.is_nan() || x.is_unknown()) return x;
  if (x.is_zero() && e.q == 1) return special_power(x, enclosure(static_cast<double>(e.p)));
  const auto magnitude = static_cast<unsigned long>(e.p < 0 ? -e.p : e.p), root = static_cast<unsigned long>(e.q);
  if (e.q == 1 && mpfr_sgn(x.low()) < 0) {
    if (e.p < 0) return enclosure(1.0) / power(x, {-e.p, 1});
    if (x.is_negative()) return magnitude % 2 == 0 ? power(-x, e) : -power(-x, e);
    if (magnitude % 2 == 0) return power(hull_with_zero(larger(-x, x)), e);
    return enclosure::increasing(
        x, [&](mpfr_ptr end, mpfr_srcptr a, mpfr_rnd_t mode) { return mpfr_pow_ui(end, a, magnitude, mode); });
  }
  const auto f = [&](mpfr_ptr end, mpfr_srcptr a, mpfr_rnd_t mode) {
    const int powered = mpfr_pow_ui(end, a, magnitude, mode);
    return static_cast<int>(static_cast<unsigned>(mpfr_rootn_ui(end, end, root, mode) != 0) |
                            static_cast<unsigned>(powered != 0));
  };
  const enclosure r = enclosure::increasing_from(0, e.p < 0, x, f);
  return e.p < 0 && !r.is_unknown() ? reciprocal(r) : r;
}

enclosure pow(const enclosure& x, const enclosure& e) {
  if (e.is_zero() || (is_point(x) && mpfr_cmp_ui(x.low(), 1) == 0)) return enclosure(1.0);
  if (x.is_nan() || e.is_nan()) return enclosure::nan();
  if (x.is_unknown() || e.is_unknown()) return enclosure::unknown();
  const bool one_exponent = is_point(e);
  if (one_exponent && is_point(x) && (x.is_zero() || x.is_infinite() || e.is_infinite())) return special_power(x, e);
  if (mpfr_sgn(x.low()) < 0) {
    if (one_exponent && mpfr_integer_p(e.low()) != 0 && mpfr_fits_slong_p(e.low(), MPFR_RNDN) != 0)
      return power(x, {mpfr_get_si(e.low(), MPFR_RNDN), 1});
    if (one_exponent && mpfr_integer_p(e.low()) != 0 && mpfr_sgn(x.high()) < 0)
      return is_odd(e.low()) ? -pow(-x, e) : pow(-x, e);
    return mpfr_sgn(x.high()) < 0 && x.is_finite() && holds_no_integer(e) ? enclosure::nan() : enclosure::unknown();
  }
  // If the base may be 0, a negative power may be infinite.
  if (mpfr_zero_p(x.low()) != 0 && !x.is_zero() && !x.low_open() && mpfr_sgn(e.low()) < 0) return enclosure::unknown();
  enclosure r;
  mpfr_scratch corner(r.precision());
  bool first = true, inexact = false;
  for (mpfr_srcptr base : {x.low(), x.high()})
    for (mpfr_srcptr exponent : {e.low(), e.high()}) {
      inexact = mpfr_pow(corner, base, exponent, MPFR_RNDD) != 0 || inexact;
      if (first || mpfr_less_p(corner, r.left()) != 0) mpfr_set(r.left(), corner, MPFR_RNDD);
      mpfr_pow(corner, base, exponent, MPFR_RNDU);
      if (first || mpfr_greater_p(corner, r.right()) != 0) mpfr_set(r.right(), corner, MPFR_RNDU);
      first = false;
    }
  const bool single = one_exponent && mpfr_equal_p(x.low(), x.high()) != 0;
  return r.with_open_ends(single && inexact, single && inexact);
}

namespace {

tracked by_exponential(double r, double log_r, double inherited, double argument) {
  return {r,
          tracked::change(r, log_r, inherited + argument * (accuracy::log + 2.0)) + accuracy::exp * r + tracked::tau()};
}

constexpr double unbounded = std::numeric_limits<double>::infinity();

// |x'|^p - |x|^p is largest at the end that is farther from 0; near x = 0 the slope does not show this.
template <class ByLogarithm>
tracked integer_power(const tracked& x, double p, ByLogarithm by_logarithm) {
  const double r = std::pow(x.number, p), reach = tracked::u() * x.error;
  const double products = std::fabs(p) * finite_magnitude(r) + tracked::tau();
  if (!(std::fabs(x.number) > reach) && reach != 0.0) {
    if (p < 0.0) return {r, unbounded};
    return {r, (std::pow(std::fabs(x.number) + reach, p) - std::fabs(r)) / tracked::u() + products};
  }
  const tracked whole = by_logarithm();
  const double inherited = propagate(std::fabs(p * std::pow(x.number, p - 1.0)), x.error);
  return {r, larger_error(whole.error, inherited + products)};
}

}  // namespace

tracked power(const tracked& x, rational e) {
  if (e.p == 0) return tracked(1.0);
  const double exponent = e.to_double(), r = std::pow(x.number, exponent);
  if (x.number == 0.0 && x.error == 0.0) return tracked(r);
  const auto by_logarithm = [&] {
    const double log_r = exponent * std::log(std::fabs(x.number));
    return by_exponential(r, log_r, propagate(std::fabs(exponent / x.number), x.error), std::fabs(log_r));
  };
  if (e.q == 1) return integer_power(x, exponent, by_logarithm);
  return x.number == 0.0 ? tracked(r, unbounded) : by_logarithm();
}
tracked pow(const tracked& x, const tracked& e) {
  const double log_x = std::log(std::fabs(x.number)), r = std::pow(x.number, e.number);
  if (x.number == 0.0 && x.error == 0.0 && e.error == 0.0) return tracked(r);
  if (e.number == 0.0 && e.error == 0.0) return tracked(1.0);
  if (e.error == 0.0 && std::floor(e.number) == e.number && x.number < 0.0 && std::fabs(e.number) <= 0x1p53)
    return power(x, {static_cast<long>(e.number), 1});
  const double inherited = propagate(std::fabs(e.number / x.number), x.error) + propagate(std::fabs(log_x), e.error);
  return by_exponential(r, e.number * log_x, inherited, std::fabs(e.number * log_x));
}

rounded power(const rounded& x, rational e) { return rounded(std::pow(x.number, e.to_double())); }
rounded pow(const rounded& x, const rounded& e) { return rounded(std::pow(x.number, e.number)); }

// Balls.

template <class Number>
ball<Number> pow(const ball<Number>& x, const ball<Number>& e) {
  using result = ball<Number>;
  if (e.is_exact_zero()) return result(1.0);
  if (x.is_exact() && leading(x.centre) == 1.0 && trailing(x.centre) == 0.0) return result(1.0);
  if (x.is_nan() || e.is_nan()) return result::nan();
  if (x.is_exact_zero() && e.is_positive()) return result(0.0);
  // An odd power has the sign of the zero, which a ball does not know.
  if (x.is_exact_zero() && e.is_negative() && e.is_exact() && trailing(e.centre) == 0.0 &&
      std::fabs(std::fmod(leading(e.centre), 2.0)) != 1.0)
    return result(std::numeric_limits<double>::infinity());
  if (x.is_exact_zero()) return result::unknown();
  if (!x.is_finite() || !e.is_finite()) return result::unknown();
  if (!x.is_negative()) return exp(e * log(x));
  if (!e.is_exact()) return result::unknown();
  const double exponent = leading(e.centre);
  const double rest = trailing(e.centre);
  if (std::floor(exponent) != exponent || std::floor(rest) != rest) return result::nan();
  if (rest != 0.0) return result::unknown();  // an integer beyond 2^53
  const ball<Number> r = exp(e * log(-x));
  return std::fmod(exponent, 2.0) == 0.0 ? r : -r;
}
template <class Number>
ball<Number> power(const ball<Number>& x, rational e) {
  if (e.q != 1 && x.is_negative()) return ball<Number>::nan();
  return pow(x, ball<Number>(static_cast<double>(e.p)) / ball<Number>(static_cast<double>(e.q)));
}

template double_ball pow(const double_ball&, const double_ball&);
template two_double_ball pow(const two_double_ball&, const two_double_ball&);
template double_ball power(const double_ball&, rational);
template two_double_ball power(const two_double_ball&, rational);

}  // namespace assay::reference
