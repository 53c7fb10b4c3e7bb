#include "optimized/rotations.hpp"

#include <mpfr.h>

#include <array>
#include <cmath>
#include <limits>

#include "reference/core/result.hpp"

namespace assay::optimized {
namespace {

constexpr mpfr_prec_t bits = 200;

// Returns the nearest number with `count` bits and subtracts it from x.
double taken_off(mpfr_t x, mpfr_prec_t count) {
  mpfr_t part;
  mpfr_init2(part, count);
  mpfr_set(part, x, MPFR_RNDN);
  const double taken = mpfr_get_d(part, MPFR_RNDN);
  mpfr_clear(part);
  mpfr_sub_d(x, x, taken, MPFR_RNDN);
  return taken;
}

void set_sum(mpfr_t x, frequency theta) {
  mpfr_set_d(x, theta.high, MPFR_RNDN);
  mpfr_add_d(x, x, theta.low, MPFR_RNDN);
}

// Returns cos and sin of x, each as a number of `first` bits and a rest: c, rest of c, s, rest of s.
std::array<double, 4> in_parts(const mpfr_t x, mpfr_prec_t first) {
  mpfr_t c, s;
  mpfr_inits2(bits, c, s, static_cast<mpfr_ptr>(nullptr));
  mpfr_sin_cos(s, c, x, MPFR_RNDN);
  const double cosine = taken_off(c, first), sine = taken_off(s, first);
  const std::array<double, 4> parts{cosine, mpfr_get_d(c, MPFR_RNDN), sine, mpfr_get_d(s, MPFR_RNDN)};
  mpfr_clears(c, s, static_cast<mpfr_ptr>(nullptr));
  return parts;
}

// cos and sin of j 2^-9 quarter turns, for kernels/split_rotation.ipp.
struct step_table {
  double rows[512][4] = {};  // 257 rows are needed, but the kernel may ask for any 9-bit index
  step_table() {
    mpfr_t x;
    mpfr_init2(x, bits);
    for (int j = 0; j <= 256; ++j) {
      mpfr_const_pi(x, MPFR_RNDN);
      mpfr_mul_d(x, x, j * 0x1p-10, MPFR_RNDN);
      const std::array<double, 4> parts = in_parts(x, 26);
      std::copy(parts.begin(), parts.end(), rows[j]);
    }
    mpfr_clear(x);
  }
};
const step_table& steps() {
  static const step_table all;
  return all;
}

// Computes any angle with the C library. It turns by the high part and then by the low part.
void find_by_library(double position, frequency theta, double& cosine, double& sine) {
  const double large = position * theta.high;
  const double small = std::fma(position, theta.high, -large) + position * theta.low;
  const double c = std::cos(large), s = std::sin(large), dc = std::cos(small), ds = std::sin(small);
  cosine = c * dc - s * ds;
  sine = s * dc + c * ds;
}

// Computes any angle with MPFR, and returns c, rest of c, s, rest of s.
std::array<double, 4> found_exactly(double position, frequency theta) {
  if (!std::isfinite(position * theta.high) || !std::isfinite(theta.low)) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan, nan, nan};
  }
  mpfr_t x;
  mpfr_init2(x, 2 * bits);
  set_sum(x, theta);
  mpfr_mul_d(x, x, position, MPFR_RNDN);
  const std::array<double, 4> parts = in_parts(x, 26);
  mpfr_clear(x);
  return parts;
}

}  // namespace

prepared_frequencies::prepared_frequencies(std::vector<frequency> theta)
    : theta_(std::move(theta)), high_(theta_.size()), middle_(theta_.size()), low_(theta_.size()) {
  mpfr_t per_radian, x;
  mpfr_inits2(bits, per_radian, x, static_cast<mpfr_ptr>(nullptr));
  mpfr_const_pi(per_radian, MPFR_RNDN);
  mpfr_d_div(per_radian, 2.0, per_radian, MPFR_RNDN);
  for (std::size_t t = 0; t < theta_.size(); ++t) {
    const frequency f = theta_[t];
    const bool tiny = f.high != 0.0 && std::fabs(f.high) < 0x1p-499;
    if (tiny || !std::isfinite(f.high) || !std::isfinite(f.low)) {  // not for the kernels
      high_[t] = middle_[t] = low_[t] = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    set_sum(x, f);
    mpfr_mul(x, x, per_radian, MPFR_RNDN);
    const double whole = mpfr_get_d(x, MPFR_RNDN);
    high_[t] = taken_off(x, 26);
    middle_[t] = whole - high_[t];
    mpfr_sub_d(x, x, middle_[t], MPFR_RNDN);
    low_[t] = mpfr_get_d(x, MPFR_RNDN);
  }
  mpfr_clears(per_radian, x, static_cast<mpfr_ptr>(nullptr));
}

void prepared_frequencies::find(const kernel_table& kernels, double position, rotations& found) const {
  ASSAY_EXPECTS(found.cosine.size() == size());
  const bool split = !found.cosine_low.empty();
  (split ? kernels.rotation.split_rotations : kernels.rotation.rotations)(
      {size(), position, high_.data(), middle_.data(), low_.data(), split ? steps().rows : nullptr, found.cosine.data(),
       found.sine.data(), found.cosine_low.data(), found.sine_low.data()});
  for (std::size_t t = 0; t < size(); ++t) {
    if (!std::isnan(found.cosine[t])) continue;  // the kernels leave NaN to this loop
    if (split) {
      const std::array<double, 4> parts = found_exactly(position, theta_[t]);
      found.cosine[t] = parts[0], found.cosine_low[t] = parts[1];
      found.sine[t] = parts[2], found.sine_low[t] = parts[3];
    } else {
      find_by_library(position, theta_[t], found.cosine[t], found.sine[t]);
    }
  }
}

}  // namespace assay::optimized
