// Both forms are summed in intervals. These have more bits than the result, as many as the cancellation costs. Let z =
// |x|.
//
// The series (DLMF 6.6.6), for z below about p log 2,
//   Cin(z) = sum over k >= 1 of (-1)^(k+1) z^(2k) / (2k (2k)!).
// Once 2k + 1 >= z its terms fall, (t_{k+1} / t_k) = z^2 2k / ((2k + 1) (2k + 2)^2) < 1, and alternate: the rest of the
// series is at most the first term left out. The terms stay below e^z, which costs 1.45 z bits.
//
// The auxiliary functions (DLMF 6.2.20 and 6.7.13) for larger z, where their smallest term is about e^-z:
//   Ci(z) = f sin z - g cos z,   f = integral of e^(-zt) / (1 + t^2),  g = integral of t e^(-zt) / (1 + t^2), t from 0.
// The partial sums of 1 / (1 + t^2) = 1 - t^2 + t^4 - ... lie on either side of it, so
//   f = 0! / z - 2! / z^3 + 4! / z^5 - ...,   g = 1! / z^2 - 3! / z^4 + ...
// each have an error of at most the first term left out (DLMF 6.12(ii)).
#include "reference/readings/directed_cosine_integral.hpp"

#include <mpfi.h>
#include <mpfr.h>

#include <cmath>

namespace assay::reference {
namespace {

class interval {
 public:
  explicit interval(mpfr_prec_t bits) { mpfi_init2(number_, bits); }
  ~interval() { mpfi_clear(number_); }
  interval(const interval&) = delete;
  interval& operator=(const interval&) = delete;
  operator mpfi_ptr() { return number_; }
  mpfr_ptr left() { return &number_->left; }
  mpfr_ptr right() { return &number_->right; }

 private:
  mpfi_t number_;
};

/// Adds (-1)^k x to the sum.
void add_alternating(interval& sum, interval& x, unsigned long k) {
  if (k % 2 == 0)
    mpfi_add(sum, sum, x);
  else
    mpfi_sub(sum, sum, x);
}

/// Widens `sum` by the number x >= 0 on both sides.
void widen(interval& sum, interval& x) {
  mpfr_sub(sum.left(), sum.left(), x.right(), MPFR_RNDD);
  mpfr_add(sum.right(), sum.right(), x.right(), MPFR_RNDU);
}

/// Whether x > 0 is below 2^-bits of |sum|.
bool is_negligible(interval& x, interval& sum, mpfr_prec_t bits) {
  return mpfr_zero_p(sum.right()) == 0 && mpfr_zero_p(x.right()) == 0 &&
         mpfr_get_exp(x.right()) + bits < mpfr_get_exp(sum.right());
}

void sum_series(interval& sum, interval& z, mpfr_prec_t bits, mpfr_prec_t working_bits) {
  interval square(working_bits), power(working_bits), term(working_bits);
  mpfi_sqr(square, z);
  mpfi_div_ui(power, square, 2);
  mpfi_set_ui(sum, 0);
  for (unsigned long k = 1;; ++k) {
    mpfi_div_ui(term, power, 2 * k);
    if (mpfr_cmp_ui(z.right(), 2 * k + 1) <= 0 && is_negligible(term, sum, bits)) return widen(sum, term);
    add_alternating(sum, term, k + 1);
    mpfi_mul(power, power, square);
    mpfi_div_ui(power, power, (2 * k + 1) * (2 * k + 2));
  }
}

/// first! / z^(first + 1) - (first + 2)! / z^(first + 3) + ...: f for `first` 0, g for 1.
void sum_auxiliary(interval& sum, interval& z, unsigned long first, mpfr_prec_t bits, mpfr_prec_t working_bits) {
  interval square(working_bits), term(working_bits), next(working_bits);
  mpfi_sqr(square, z);
  mpfi_ui_div(term, 1, first == 0 ? z : square);
  mpfi_set_ui(sum, 0);
  for (unsigned long k = 0;; ++k) {
    const unsigned long n = first + 2 * k;
    mpfi_mul_ui(next, term, (n + 1) * (n + 2));
    mpfi_div(next, next, square);
    if (mpfr_cmp(next.right(), term.left()) >= 0 || is_negligible(term, sum, bits)) return widen(sum, term);
    add_alternating(sum, term, k);
    mpfi_set(term, next);
  }
}

void by_auxiliary_functions(interval& result, interval& z, mpfr_prec_t bits, mpfr_prec_t working_bits) {
  interval f(working_bits), g(working_bits), wave(working_bits);
  sum_auxiliary(f, z, 0, bits, working_bits);
  sum_auxiliary(g, z, 1, bits, working_bits);
  mpfi_sin(wave, z);
  mpfi_mul(f, f, wave);
  mpfi_cos(wave, z);
  mpfi_mul(g, g, wave);
  mpfi_log(result, z);
  mpfi_const_euler(wave);
  mpfi_add(result, result, wave);
  mpfi_sub(result, result, f);
  mpfi_add(result, result, g);
}

}  // namespace

void directed::entire_cosine_integral(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t mode) {
  if (mpfr_number_p(x) == 0 || mpfr_zero_p(x) != 0) {
    mpfr_abs(result, x, mode);
    return;
  }
  const mpfr_prec_t bits = mpfr_get_prec(result) + 16;
  const double largest_of_series = 0.7 * static_cast<double>(bits), magnitude = std::fabs(mpfr_get_d(x, MPFR_RNDN));
  const bool by_series = magnitude <= largest_of_series;
  const mpfr_prec_t working_bits = bits + 32 + (by_series ? static_cast<mpfr_prec_t>(1.5 * magnitude) : 0);
  interval z(working_bits), sum(working_bits);
  mpfi_set_fr(z, x);
  mpfi_abs(z, z);
  if (by_series)
    sum_series(sum, z, bits, working_bits);
  else
    by_auxiliary_functions(sum, z, bits, working_bits);
  mpfr_set(result, mode == MPFR_RNDD ? sum.left() : sum.right(), mode);
}

}  // namespace assay::reference
