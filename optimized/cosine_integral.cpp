#include "optimized/cosine_integral.hpp"

#include <cmath>
#include <complex>
#include <limits>

namespace assay::optimized {
namespace {

constexpr double euler_gamma = 0x1.2788cfc6fb619p-1;
/// Up to here the series: its terms, at most 9/4, cost little of the digits. Beyond, the fraction converges fast.
constexpr double largest_of_series = 3.0;

/// Cin(z) = sum over k >= 1 of (-1)^(k+1) z^(2k) / (2k (2k)!) (DLMF 6.6.6), 0 <= z <= largest_of_series, from its
/// smallest term on: the 16th is below 2^-57 of the first at the end of the range.
double series(double z) {
  constexpr int terms = 16;
  const double square = z * z;
  double ratio = 0.0;  // the rest of the sum, relative to the term before it
  for (int k = terms; k >= 2; --k) {
    const double n = 2.0 * k;
    ratio = -square * (n - 2.0) / (n * n * (n - 1.0)) * (1.0 + ratio);
  }
  return square / 4.0 * (1.0 + ratio);
}

/// Ci(z) = -Re E1(iz), E1(w) = e^-w / (w + 1 - 1 / (w + 3 - 4 / (w + 5 - 9 / ...))) (DLMF 6.9.5, the even part of
/// 6.9.1), by Lentz's method (Press et al. 2007, section 6.8); z > largest_of_series.
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
  // -Re(e^(-iz) h)
  return -(std::cos(z) * h.real() + std::sin(z) * h.imag());
}

}  // namespace

// Where both arguments are small, the logarithms cancel in Cin; where both are large, there are none.
double decay_at(double s, double base) {
  const double z = std::fabs(s), w = z / base, scale = std::log(base);
  if (std::isnan(z)) return z;
  if (z <= largest_of_series) return 1.0 - (series(z) - series(w)) / scale;
  if (w <= largest_of_series) return (fraction(z) - (euler_gamma + std::log(w) - series(w))) / scale;
  return (fraction(z) - fraction(w)) / scale;
}

// Near 0, where the cosines cancel, their difference is a product of sines; far from it the rounding of its arguments
// would cost more than the cosines lose.
double decay_slope_at(double s, double base) {
  if (s == 0.0) return 0.0;
  const double scale = s * std::log(base), half = s / 2.0;
  if (std::fabs(s) > 1.0) return (std::cos(s) - std::cos(s / base)) / scale;
  return -2.0 * std::sin(half + half / base) * (std::sin(half - half / base) / scale);
}

}  // namespace assay::optimized
