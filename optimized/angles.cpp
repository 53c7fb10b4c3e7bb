#include "optimized/angles.hpp"

#include <mpfr.h>

namespace assay::optimized {
namespace {

constexpr mpfr_prec_t angle_bits = 120;

/// number^(p/q), or (p/q)^number.
frequency power(double number, long p, long q, bool takes_quotient) {
  mpfr_t x, quotient;
  mpfr_inits2(angle_bits, x, quotient, static_cast<mpfr_ptr>(nullptr));
  mpfr_set_si(quotient, p, MPFR_RNDN);
  mpfr_div_si(quotient, quotient, q, MPFR_RNDN);
  mpfr_set_d(x, number, MPFR_RNDN);
  if (takes_quotient) mpfr_swap(x, quotient);
  mpfr_pow(x, x, quotient, MPFR_RNDN);
  frequency theta;
  theta.high = mpfr_get_d(x, MPFR_RNDN);
  mpfr_sub_d(x, x, theta.high, MPFR_RNDN);
  theta.low = mpfr_get_d(x, MPFR_RNDN);
  mpfr_clears(x, quotient, static_cast<mpfr_ptr>(nullptr));
  return theta;
}

}  // namespace

frequency geometric_frequency(double base, long p, long q) { return power(base, -p, q, false); }
frequency power_frequency(double alpha, long p, long q) { return power(alpha, p, q, true); }

}  // namespace assay::optimized
