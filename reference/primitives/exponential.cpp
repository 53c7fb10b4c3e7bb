#include "reference/primitives/exponential.hpp"

#include "reference/readings/all.hpp"

namespace assay::reference {

value exp(const value& x) { return value(value::real(boost::multiprecision::exp(x.number))); }

enclosure exp(const enclosure& x) { return enclosure::increasing(x, mpfr_exp); }

tracked exp(const tracked& x) {
  const double r = std::exp(x.number);
  return {r, tracked::change(r, x.number, x.error) + accuracy::exp * r + tracked::tau()};
}

rounded exp(const rounded& x) { return rounded(std::exp(x.number)); }

// Balls.

template <class Number>
ball<Number> exp(const ball<Number>& x) {
  using result = ball<Number>;
  const double c = leading(x.centre);
  if (!x.is_finite()) return x.is_infinite() ? result(std::exp(c)) : x;
  if (x.is_exact_zero()) return result(1.0);
  if (x.radius <= 0x1p-5 && std::fabs(c) < proved::largest_exponent) {
    const auto e = proved::exponential(x.centre);
    return result(e, product_of_bounds(leading(e.value) + e.error, x.radius * (1.0 + x.radius)));
  }
  if (x.radius <= 0x1p-5 && c < 0.0 && c > -2.0 * proved::largest_exponent) {
    const ball<Number> half(1.0 / 2), root = exp(x * half);
    return root * root;
  }
  // The ball reaches from 0 to the value at the upper end.
  if (c + x.radius < -1290.0) return {Number(0.0), 0x1p-1070, side::above};
  const double high = std::max((c + x.radius) + 0x1p-50 * (std::fabs(c) + x.radius), -640.0);
  if (!(high < 640.0)) return result::unknown();
  const auto e = proved::exponential(high);
  const double half = rounded_up(e.value + e.error) / 2.0;
  return {Number(half), half};
}

template double_ball exp(const double_ball&);
template two_double_ball exp(const two_double_ball&);

}  // namespace assay::reference
