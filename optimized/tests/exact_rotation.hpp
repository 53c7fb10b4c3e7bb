// Rotations with 400 bits.
#pragma once

#include <mpfr.h>

#include <cmath>

#include "optimized/angles.hpp"
#include "optimized/token_rotations.hpp"

namespace assay::optimized::tests {

class exact_number {
 public:
  exact_number() { mpfr_init2(value, 400); }
  ~exact_number() { mpfr_clear(value); }
  exact_number(const exact_number&) = delete;
  exact_number& operator=(const exact_number&) = delete;
  /// Returns |value - (x + y)|.
  double distance(double x, double y = 0) {
    exact_number d;
    mpfr_sub_d(d.value, value, x, MPFR_RNDN);
    mpfr_sub_d(d.value, d.value, y, MPFR_RNDN);
    return std::fabs(mpfr_get_d(d.value, MPFR_RNDN));
  }
  double rounded() { return mpfr_get_d(value, MPFR_RNDN); }
  mpfr_t value;
};

struct exact_rotation {
  exact_number angle, cosine, sine;
  void find(double position, frequency theta) {
    mpfr_set_d(angle.value, theta.high, MPFR_RNDN);
    mpfr_add_d(angle.value, angle.value, theta.low, MPFR_RNDN);
    mpfr_mul_d(angle.value, angle.value, position, MPFR_RNDN);
    mpfr_sin_cos(sine.value, cosine.value, angle.value, MPFR_RNDN);
  }
};

/// The shape of one row of tokens, [tokens, heads, features].
struct rotary_shape {
  std::size_t tokens, heads, features, pairs;
  bool half_split;
  [[nodiscard]] std::size_t first(std::size_t t) const { return rotary_pairs{pairs, half_split}.first(t); }
  [[nodiscard]] std::size_t second(std::size_t t) const { return rotary_pairs{pairs, half_split}.second(t); }
};

}  // namespace assay::optimized::tests
