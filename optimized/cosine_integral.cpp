#include "optimized/cosine_integral.hpp"

#include <cmath>
#include <complex>
#include <limits>

namespace assay::optimized {
namespace {

constexpr double euler_gamma = 0x1.2788cfc6fb619p-1;
/// Up to this argument, the series is used: its terms are at most 9/4 and so cost few digits. Beyond it, the fraction
/// converges fast.
constexpr double largest_of_series = 3.0;

/// Cin(z) = sum over k >= 1 of (-1)^(k+1) z^(2k) / (2k (2k)!) (DLMF 6.6.6), for 0 <= z <= largest_of_series. The
/// summation begins at the smallest term. At the end of the range, the 16th term is below 2^-57 of the first.
double series(double z) {
  constexpr int terms = 16;
  const double square = z * z;
  double ratio = 0.0;  // the sum of the later terms divided by the term before them
  for (int k = terms; k >= 2; --k) {
    const double n = 2.0 * k;
    ratio = -square * (n - 2.0) / (n * n * (n - 1.0)) * (1.0 + ratio);
  }
  return square / 4.0 * (1.0 + ratio);
}

/// Ci(z) = -Re E1(iz), for z > largest_of_series. E1(w) = e^-w / (w + 1 - 1 / (w + 3 - 4 / (w + 5 - 9 / ...))) is DLMF
/// 6.9.5, the even part of DLMF 6.9.1. It is computed by Lentz's method (Press et al. 2007, section 6.8).
double fraction(double z) {
  std::complex<double> b(1.0, z), c(1.0 / std::numeric_limits<double>::min(), 0.0), d = 1.0 / b, h = d;
  for (int i = 1; i < 200; ++i) {
    const double a = -static_cast<double>(i) * i;
    b += 2.0;
    d = 1.0 / (a * d + b);
    c = b + a / c;
    const std::complex<double> factor = c * d;
    h *= factor;
    if (std::fabs(factor.real() - 1.0) + std::fabs(factor.imag()) < 0x1p-53) break;
  }
  // This is -Re(e^(-iz) h).
  return -(std::cos(z) * h.real() + std::sin(z) * h.imag());
}

}  // namespace

// If both arguments are small, the logarithms of the two Cin cancel. If both are large, no logarithms occur.
double decay_at(double s, double base) {
  const double z = std::fabs(s), w = z / base, scale = std::log(base);
  if (std::isnan(z)) return z;
  if (z <= largest_of_series) return 1.0 - (series(z) - series(w)) / scale;
  if (w <= largest_of_series) return (fraction(z) - (euler_gamma + std::log(w) - series(w))) / scale;
  return (fraction(z) - fraction(w)) / scale;
}

// Near 0 the cosines cancel, so their difference is computed as a product of sines. Far from 0, the rounding of the
// sines' arguments would cost more than the cosines lose.
double decay_slope_at(double s, double base) {
  if (s == 0.0) return 0.0;
  const double scale = s * std::log(base), half = s / 2.0;
  if (std::fabs(s) > 1.0) return (std::cos(s) - std::cos(s / base)) / scale;
  return -2.0 * std::sin(half + half / base) * (std::sin(half - half / base) / scale);
}

}  // namespace assay::optimized
