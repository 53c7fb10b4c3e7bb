#include "optimized/split_rotation.hpp"

#include <mpfr.h>

#include <array>
#include <cmath>
#include <limits>

namespace assay::optimized {
namespace {

/// An unevaluated sum, |low| at most half an ulp of high.
struct two_part {
  double high, low;
};

// Knuth 1998, section 4.2.2, theorem B.
two_part sum(double x, double y) {
  const double r = x + y, y_added = r - x;
  return {r, (x - (r - y_added)) + (y - y_added)};
}
two_part product(double x, double y) {
  const double r = x * y;
  return {r, std::fma(x, y, -r)};
}
two_part operator+(two_part x, two_part y) {
  const two_part high = sum(x.high, y.high);
  return sum(high.high, high.low + (x.low + y.low));
}
two_part operator-(two_part x, two_part y) { return x + two_part{-y.high, -y.low}; }
two_part operator*(two_part x, two_part y) {
  const two_part r = product(x.high, y.high);
  return sum(r.high, r.low + (x.high * y.low + x.low * y.high));
}

struct cosine_and_sine {
  two_part cosine, sine;
};

split_rotation split(const cosine_and_sine& r) {
  const double c = first_bits(r.cosine.high), s = first_bits(r.sine.high);
  return {c, (r.cosine.high - c) + r.cosine.low, s, (r.sine.high - s) + r.sine.low};
}

two_part rounded_twice(mpfr_t x) {
  two_part r{};
  r.high = mpfr_get_d(x, MPFR_RNDN);
  mpfr_sub_d(x, x, r.high, MPFR_RNDN);
  r.low = mpfr_get_d(x, MPFR_RNDN);
  return r;
}

// Of high + low, at so many bits.
cosine_and_sine of_any_angle(two_part angle, mpfr_prec_t bits) {
  mpfr_t x, c, s;
  mpfr_inits2(bits, x, c, s, static_cast<mpfr_ptr>(nullptr));
  mpfr_set_d(x, angle.high, MPFR_RNDN);
  mpfr_add_d(x, x, angle.low, MPFR_RNDN);
  mpfr_sin_cos(s, c, x, MPFR_RNDN);
  const cosine_and_sine r{rounded_twice(c), rounded_twice(s)};
  mpfr_clears(x, c, s, static_cast<mpfr_ptr>(nullptr));
  return r;
}

constexpr double steps_of_one = 128;
constexpr std::size_t table_size = 103;  // a little beyond pi / 4

const std::array<cosine_and_sine, table_size>& table() {
  static const auto all = [] {
    std::array<cosine_and_sine, table_size> t{};
    for (std::size_t j = 0; j < table_size; ++j) t[j] = of_any_angle({static_cast<double>(j) / steps_of_one, 0.0}, 160);
    return t;
  }();
  return all;
}

// |t| <= 2^-8: the terms that are left out are below 2^-90.
cosine_and_sine of_small(two_part t) {
  constexpr two_part minus_sixth{-0x1.5555555555555p-3, -0x1.5555555555555p-57};
  const two_part square = t * t;
  const double q = square.high;
  const double sine_tail = q * q * t.high * (1.0 / 120 - q * (1.0 / 5040 - q / 362880));
  const two_part sine = t + t * square * minus_sixth + two_part{sine_tail, 0.0};
  const double cosine_tail = q * square.low / 12 + q * q * (1.0 / 24 - q * (1.0 / 720 - q / 40320));
  const two_part cosine = two_part{1.0, 0.0} - two_part{square.high / 2, square.low / 2} + two_part{cosine_tail, 0.0};
  return {cosine, sine};
}

// |r| <= pi/4 and a little.
cosine_and_sine of_reduced(two_part r) {
  const double j = std::nearbyint(r.high * steps_of_one);
  const cosine_and_sine small = of_small(sum(r.high - j / steps_of_one, r.low));
  cosine_and_sine step = table()[static_cast<std::size_t>(std::fabs(j))];
  if (j < 0) step.sine = {-step.sine.high, -step.sine.low};
  return {step.cosine * small.cosine - step.sine * small.sine, step.sine * small.cosine + step.cosine * small.sine};
}

// angle - k pi/2 for the k that leaves least; k < 2^40, so the three parts of pi/2 leave an error below 2^-120.
two_part reduced(two_part angle, double k) {
  const two_part first = product(k, 0x1.921fb54442d18p+0), second = product(k, 0x1.1a62633145c07p-54);
  const two_part r = sum(angle.high - first.high, angle.low) - two_part{first.low, 0.0};
  return r - second - two_part{k * -0x1.f1976b7ed8fbcp-110, 0.0};
}

}  // namespace

split_rotation split_rotation_by(double position, frequency theta) {
  const two_part whole = product(position, theta.high);
  if (!std::isfinite(whole.high) || !std::isfinite(theta.low)) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan, nan, nan};
  }
  const two_part angle = sum(whole.high, whole.low + position * theta.low);
  if (std::fabs(angle.high) >= 0x1p40) return split(of_any_angle(angle, 1280));
  const double k = std::nearbyint(angle.high * 0x1.45f306dc9c883p-1);  // 2 / pi
  const cosine_and_sine r = of_reduced(reduced(angle, k));
  const auto negated = [](two_part x) { return two_part{-x.high, -x.low}; };
  switch (static_cast<std::int64_t>(k) & 3) {
    case 0:
      return split(r);
    case 1:
      return split({negated(r.sine), r.cosine});
    case 2:
      return split({negated(r.cosine), negated(r.sine)});
    default:
      return split({r.sine, negated(r.cosine)});
  }
}

}  // namespace assay::optimized
