#include "optimized/angles.hpp"

#include <mpfr.h>

namespace assay::optimized {
namespace {

constexpr mpfr_prec_t angle_bits = 120;

}  // namespace

frequency geometric_frequency(double base, long p, long q) {
  mpfr_t x, exponent;
  mpfr_inits2(angle_bits, x, exponent, static_cast<mpfr_ptr>(nullptr));
  mpfr_set_si(exponent, -p, MPFR_RNDN);
  mpfr_div_si(exponent, exponent, q, MPFR_RNDN);
  mpfr_set_d(x, base, MPFR_RNDN);
  mpfr_pow(x, x, exponent, MPFR_RNDN);
  frequency theta;
  theta.high = mpfr_get_d(x, MPFR_RNDN);
  mpfr_sub_d(x, x, theta.high, MPFR_RNDN);
  theta.low = mpfr_get_d(x, MPFR_RNDN);
  mpfr_clears(x, exponent, static_cast<mpfr_ptr>(nullptr));
  return theta;
}

}  // namespace assay::optimized
