#include "reference/primitives/power.hpp"

#include "reference/readings/all.hpp"

namespace assay::reference {

value power(const value& x, rational e) {
  return value(value::real(boost::multiprecision::pow(x.number, value::real(e.p) / value::real(e.q))));
}
value pow(const value& x, const value& e) { return value(value::real(boost::multiprecision::pow(x.number, e.number))); }

namespace {

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

}  // namespace

enclosure power(const enclosure& x, rational e) {
  const auto magnitude = static_cast<unsigned long>(e.p < 0 ? -e.p : e.p), root = static_cast<unsigned long>(e.q);
  const enclosure r = enclosure::increasing(x, [&](mpfr_ptr end, mpfr_srcptr a, mpfr_rnd_t mode) {
    const int powered = mpfr_pow_ui(end, a, magnitude, mode);
    return static_cast<int>(static_cast<unsigned>(mpfr_rootn_ui(end, end, root, mode) != 0) |
                            static_cast<unsigned>(powered != 0));
  });
  return e.p < 0 ? reciprocal(r) : r;
}

enclosure pow(const enclosure& x, const enclosure& e) {
  if (x.is_nan() || e.is_nan() || mpfr_sgn(x.low()) < 0) return enclosure::nan();
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
  const bool single = mpfr_equal_p(x.low(), x.high()) != 0 && mpfr_equal_p(e.low(), e.high()) != 0;
  return r.with_open_ends(single && inexact, single && inexact);
}

namespace {

tracked by_exponential(double r, double log_r, double inherited, double argument) {
  return {r,
          tracked::change(r, log_r, inherited + argument * (accuracy::log + 2.0)) + accuracy::exp * r + tracked::tau()};
}

}  // namespace

tracked power(const tracked& x, rational e) {
  if (e.p == 0) return tracked(1.0);
  const double exponent = e.to_double(), argument = std::fabs(exponent * std::log(x.number));
  return by_exponential(std::pow(x.number, exponent), 0.0, propagate(std::fabs(exponent / x.number), x.error),
                        argument);
}
tracked pow(const tracked& x, const tracked& e) {
  const double log_x = std::log(x.number), r = std::pow(x.number, e.number);
  if (x.number == 0.0 && x.error == 0.0 && e.error == 0.0) return tracked(r);
  const double inherited = propagate(std::fabs(e.number / x.number), x.error) + propagate(std::fabs(log_x), e.error);
  return by_exponential(r, e.number * log_x, inherited, std::fabs(e.number * log_x));
}

rounded power(const rounded& x, rational e) { return rounded(std::pow(x.number, e.to_double())); }
rounded pow(const rounded& x, const rounded& e) { return rounded(std::pow(x.number, e.number)); }

// Balls.

template <class Number>
ball<Number> pow(const ball<Number>& x, const ball<Number>& e) {
  using result = ball<Number>;
  if (x.is_nan() || e.is_nan()) return result::nan();
  if (e.is_exact_zero()) return result(1.0);
  if (x.is_exact_zero() && (e.is_positive() || e.is_negative()))
    return result(e.is_positive() ? 0.0 : std::numeric_limits<double>::infinity());
  if (!x.is_finite() || !e.is_finite()) return result::unknown();
  return x.is_negative() ? result::nan() : exp(e * log(x));
}
template <class Number>
ball<Number> power(const ball<Number>& x, rational e) {
  return pow(x, ball<Number>(static_cast<double>(e.p)) / ball<Number>(static_cast<double>(e.q)));
}

template double_ball pow(const double_ball&, const double_ball&);
template two_double_ball pow(const two_double_ball&, const two_double_ball&);
template double_ball power(const double_ball&, rational);
template two_double_ball power(const two_double_ball&, rational);

}  // namespace assay::reference
