#include "reference/primitives/trigonometric.hpp"

#include "reference/readings/all.hpp"

namespace assay::reference {

value sin(const value& x) { return value(value::real(boost::multiprecision::sin(x.number))); }
value cos(const value& x) { return value(value::real(boost::multiprecision::cos(x.number))); }

namespace {

// For angles beyond 2^4096 only one thing is claimed: the sine lies in [-1, 1]. The range reduction needs as many bits
// of pi as the angle has, and its time grows faster than their square: 1 ms here, half a second at 2^65536.
bool is_far(mpfr_srcptr end) { return mpfr_regular_p(end) != 0 && mpfr_get_exp(end) > 4096; }

// There is no sine of infinity.
template <class Function>
enclosure turned(const enclosure& x, Function f) {
  if (x.is_nan() || x.is_unknown()) return x;
  if (x.is_infinite()) return enclosure::nan();
  enclosure r;
  if (is_far(x.low()) || is_far(x.high())) {
    mpfr_set_si(r.left(), -1, MPFR_RNDD);
    mpfr_set_si(r.right(), 1, MPFR_RNDU);
    return r;
  }
  return r.with_inexact_ends(f(r.data(), x.data()));
}

}  // namespace

enclosure sin(const enclosure& x) { return turned(x, mpfi_sin); }
enclosure cos(const enclosure& x) { return turned(x, mpfi_cos); }

namespace {

// r = sin or cos of an angle with an error of `error` u; `slope` is the other function. No error exceeds 2.
tracked turned(double r, double slope, double error) {
  if (std::isnan(error)) return {r, error};
  const double angle = tracked::u() * error;
  const double moved = std::isfinite(angle) ? std::min(std::fabs(slope) * angle + angle * angle / 2.0, 2.0) : 2.0;
  return {r, moved / tracked::u() + accuracy::sin * finite_magnitude(r) + tracked::tau()};
}

}  // namespace

tracked sin(const tracked& x) { return turned(std::sin(x.number), std::cos(x.number), x.error); }
tracked cos(const tracked& x) { return turned(std::cos(x.number), std::sin(x.number), x.error); }

rounded sin(const rounded& x) { return rounded(std::sin(x.number)); }
rounded cos(const rounded& x) { return rounded(std::cos(x.number)); }

// Balls.

namespace {

// One of the two functions at the centre. Over the radius r it changes by |other| r + r^2 / 2 at most.
template <class Number>
ball<Number> turned(const ball<Number>& x, bounded<Number> proved::sine_and_cosine<Number>::*one,
                    bounded<Number> proved::sine_and_cosine<Number>::*other) {
  using result = ball<Number>;
  if (x.is_nan() || x.is_infinite()) return result::nan();
  if (x.is_unknown()) return x;
  if (std::fabs(leading(x.centre)) > proved::largest_angle || x.radius > 1.0) return {Number(0.0), 1.0};
  const auto both = proved::sine_and_cosine_of(x.centre);
  const double slope = std::fabs(leading((both.*other).value)) + (both.*other).error;
  return result(both.*one, product_of_bounds(slope + x.radius, x.radius));
}

}  // namespace

template <class Number>
ball<Number> sin(const ball<Number>& x) {
  using values = proved::sine_and_cosine<Number>;
  return x.is_exact_zero() ? x : turned(x, &values::sine, &values::cosine);
}
template <class Number>
ball<Number> cos(const ball<Number>& x) {
  using values = proved::sine_and_cosine<Number>;
  return x.is_exact_zero() ? ball<Number>(1.0) : turned(x, &values::cosine, &values::sine);
}

template double_ball sin(const double_ball&);
template two_double_ball sin(const two_double_ball&);
template double_ball cos(const double_ball&);
template two_double_ball cos(const two_double_ball&);

}  // namespace assay::reference
