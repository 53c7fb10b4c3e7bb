#include "reference/primitives/logarithm.hpp"

#include "reference/readings/all.hpp"

namespace assay::reference {

value log(const value& x) { return value(value::real(boost::multiprecision::log(x.number))); }
value log1p(const value& x) { return value(value::real(boost::multiprecision::log1p(x.number))); }

enclosure log(const enclosure& x) { return enclosure::increasing_from(0, true, x, mpfr_log); }
enclosure log1p(const enclosure& x) { return enclosure::increasing_from(-1, true, x, mpfr_log1p); }

tracked log(const tracked& x) {
  const double r = std::log(x.number);
  return {r, propagate(1.0 / std::fabs(x.number), x.error) + accuracy::log * finite_magnitude(r)};
}
tracked log1p(const tracked& x) {
  const double r = std::log1p(x.number);
  return {r, propagate(1.0 / std::fabs(1.0 + x.number), x.error) + accuracy::log * finite_magnitude(r)};
}

rounded log(const rounded& x) { return rounded(std::log(x.number)); }
rounded log1p(const rounded& x) { return rounded(std::log1p(x.number)); }

// Balls.

template <class Number>
ball<Number> log(const ball<Number>& x) {
  using result = ball<Number>;
  if (x.is_nan() || x.is_unknown()) return x;
  if (x.is_exact_zero()) return result(-std::numeric_limits<double>::infinity());
  if (x.is_infinite() || x.is_negative()) return leading(x.centre) > 0.0 ? x : result::nan();
  const double c = leading(x.centre), smallest = x.smallest();
  if (!(smallest > 0.0) || c < 0x1p-929 || c > 0x1p929) return result::unknown();
  return result(proved::logarithm(x.centre), quotient_of_bounds(x.radius, smallest));
}

template <class Number>
ball<Number> log1p(const ball<Number>& x) {
  const double c = leading(x.centre), smallest = (1.0 + c) * (1.0 - 0x1p-50) - x.radius;
  if (!x.is_finite() || c < -0x1p-7 || c > 1.0 || !(smallest > 0.0)) return log(ball<Number>(1.0) + x);
  return ball<Number>(proved::logarithm_of_one_plus(x.centre), quotient_of_bounds(x.radius, smallest));
}

template double_ball log(const double_ball&);
template two_double_ball log(const two_double_ball&);
template double_ball log1p(const double_ball&);
template two_double_ball log1p(const two_double_ball&);

}  // namespace assay::reference
