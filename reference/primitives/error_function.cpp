#include "reference/primitives/error_function.hpp"

#include <cmath>

#include "reference/readings/all.hpp"

namespace assay::reference {
namespace {

// 2 / sqrt(pi), rounded up.
constexpr double steepest = 0x1.20dd750429b6ep+0;

// The largest slope at points whose distance from 0 is at least `least`.
double slope_beyond(double least) { return steepest * std::exp(-least * least) * (1.0 + 0x1p-48); }

bounded<double> number_from(mpfr_srcptr x, double) {
  const double r = mpfr_get_d(x, MPFR_RNDN);
  return {r, std::fabs(r) * 0x1p-52 + std::numeric_limits<double>::denorm_min()};
}
bounded<two_double> number_from(mpfr_srcptr x, const two_double&) {
  mpfr_scratch rest(mpfr_get_prec(x));
  const double high = mpfr_get_d(x, MPFR_RNDN);
  mpfr_sub_d(rest, x, high, MPFR_RNDN);
  const double low = mpfr_get_d(rest, MPFR_RNDN);
  return {two_double(high, low),
          std::fabs(low) * 0x1p-52 + std::fabs(high) * 0x1p-150 + std::numeric_limits<double>::denorm_min()};
}

}  // namespace

value erf(const value& x) {
  value::real r;
  mpfr_erf(r.backend().data(), x.number.backend().data(), MPFR_RNDN);
  return value(r);
}

enclosure erf(const enclosure& x) { return enclosure::increasing(x, mpfr_erf); }

template <class Number>
ball<Number> erf(const ball<Number>& x) {
  if (x.is_nan() || x.is_exact_zero()) return x;
  if (x.is_infinite()) return ball<Number>(std::copysign(1.0, leading(x.centre)));
  if (x.is_unknown()) return ball<Number>(Number(0.0), 1.0);
  mpfr_scratch centre(160);
  mpfr_set_d(centre, leading(x.centre), MPFR_RNDN);
  mpfr_add_d(centre, centre, trailing(x.centre), MPFR_RNDN);  // rounds to 2^-160 of it, which number_from covers
  mpfr_erf(centre, centre, MPFR_RNDN);
  return ball<Number>(number_from(centre, x.centre), slope_beyond(x.smallest()) * x.radius);
}
template double_ball erf(const double_ball&);
template two_double_ball erf(const two_double_ball&);

tracked erf(const tracked& x) {
  const double r = std::erf(x.number), least = std::fmax(std::fabs(x.number) - tracked::u() * x.error, 0.0);
  return {r,
          propagate(slope_beyond(least), x.error) + accuracy::erf * std::fabs(r) + (r != 0.0 ? tracked::tau() : 0.0)};
}
rounded erf(const rounded& x) { return rounded(std::erf(x.number)); }

}  // namespace assay::reference
