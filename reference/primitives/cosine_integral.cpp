#include "reference/primitives/cosine_integral.hpp"

#include "reference/readings/all.hpp"
#include "reference/readings/directed_cosine_integral.hpp"

namespace assay::reference {

double entire_cosine_integral(double x) {
  mpfr_scratch from(53), to(80);
  mpfr_set_d(from, x, MPFR_RNDN);
  directed::entire_cosine_integral(to, from, MPFR_RNDD);
  return mpfr_get_d(to, MPFR_RNDN);
}

value entire_cosine_integral(const value& x) {
  value r;
  directed::entire_cosine_integral(r.number.backend().data(), x.number.backend().data(), MPFR_RNDD);
  return r;
}

enclosure entire_cosine_integral(const enclosure& x) {
  if (x.is_unknown()) return x;
  if (x.is_negative()) return entire_cosine_integral(-x);
  const auto end = [](mpfr_ptr r, mpfr_srcptr a, mpfr_rnd_t mode) {
    directed::entire_cosine_integral(r, a, mode);
    return 0;
  };
  if (!x.straddles_zero()) return enclosure::increasing(x, end);
  enclosure r, below;
  end(below.right(), x.low(), MPFR_RNDU);
  end(r.right(), x.high(), MPFR_RNDU);
  mpfr_max(r.right(), r.right(), below.right(), MPFR_RNDU);
  return r;
}

tracked entire_cosine_integral(const tracked& x) {
  constexpr double gamma = 0.5772156649015329;
  const double r = entire_cosine_integral(x.number);
  if (x.number == 0.0) return {r, x.error};
  const double logarithm = std::log(std::fabs(x.number)), slope = 2.0 / std::fabs(x.number);
  const double terms = gamma + std::fabs(logarithm) + std::fabs(gamma + logarithm - r);
  return {r, propagate(slope, x.error) + accuracy::cosine_integral * finite_magnitude(terms)};
}

rounded entire_cosine_integral(const rounded& x) { return rounded(entire_cosine_integral(x.number)); }

// Balls.

template <class Number>
ball<Number> entire_cosine_integral(const ball<Number>& x) {
  if (x.is_nan() || x.is_exact_zero()) return x;
  return x.is_infinite() ? ball<Number>(std::numeric_limits<double>::infinity()) : ball<Number>::unknown();
}

template double_ball entire_cosine_integral(const double_ball&);
template two_double_ball entire_cosine_integral(const two_double_ball&);

}  // namespace assay::reference
