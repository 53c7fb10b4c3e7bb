// Wrong and right ways to compute a matrix exponential.
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "properties/kinds/matrix_rotation.hpp"

namespace assay::properties::exponentials {
namespace {

std::size_t size_of(const traced& x) { return shape_of(x).back(); }

traced product(const traced& x, const traced& y) {
  const std::string leading = std::string("abcdefgh").substr(0, shape_of(x).size() - 2);
  return contracted(x, y, leading + "ij," + leading + "jk->" + leading + "ik");
}
traced identity(std::size_t b) {
  std::vector<std::int64_t> entries(b * b, 0);
  for (std::size_t i = 0; i < b; ++i) entries[i * b + i] = 1;
  return to_real(reference::formula::known_integers({b, b}, entries));
}
// One number for each matrix, as [..., 1, 1].
traced of_matrices(const traced& x, const traced& one_of_each) {
  core::shape s = shape_of(x);
  s[s.size() - 1] = s[s.size() - 2] = 1;
  return reshaped(one_of_each, s);
}
traced entry(const traced& x, std::size_t i, std::size_t j) {
  const std::size_t rank = shape_of(x).size();
  return between(between(x, rank - 2, i, i + 1), rank - 1, j, j + 1);
}
// The largest sum of magnitudes along this axis, for each matrix.
traced norm_of(const traced& x, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(shape_of(x).size());
  return of_matrices(x, largest_along(summed(magnitude_of(x), {rank + axis}), rank - 2));
}

}  // namespace

traced series_of_powers(const traced& x, int terms) {
  traced power = x, sum = identity(size_of(x)) + x;
  double factorial = 1.0;
  for (int k = 2; k <= terms; ++k) {
    power = product(power, x);
    factorial *= k;
    sum = sum + power / traced(factorial);
  }
  return sum;
}

traced rodrigues(const traced& x, double guard, bool small_ones_apart) {
  if (size_of(x) != 3) return skew_exponential(x);
  const auto squared = [](const traced& y) { return y * y; };
  const traced squares = squared(entry(x, 0, 1)) + squared(entry(x, 0, 2)) + squared(entry(x, 1, 2)) + traced(guard);
  const auto is_small = less(squares, traced(1.0));
  // For small angles the root and the quotients are replaced before use: at 0 their slopes are infinite.
  const traced large = small_ones_apart ? either(is_small, traced(1.0), squares) : squares;
  const traced angle = power(large, reference::ratio(1, 2)), half = sin(angle / traced(2.0));
  traced first = sin(angle) / angle, second = traced(2.0) * half * half / large;
  if (small_ones_apart) {
    // sin a / a and (1 - cos a) / a^2 from their series.
    traced f(1.0), s(1.0);
    for (int k = 9; k >= 1; --k) {
      const double even = 2.0 * k, odd = even + 1.0;
      f = traced(1.0) - squares * f / traced(even * odd);
      s = traced(1.0) - squares * s / traced(odd * (even + 2.0));
    }
    first = either(is_small, f, first), second = either(is_small, s / traced(2.0), second);
  }
  return identity(3) + first * x + second * product(x, x);
}

traced torch_of_eight(const traced& x, core::dtype type, double factor) {
  const bool wide = type == core::dtype::f64;
  const traced norm = norm_of(x, -2), low(wide ? 3.397168839976962e-4 : 5.116619363445086e-2),
               high(wide ? 4.991228871115323e-2 : 5.800524627688768e-1);
  const double root = std::sqrt(177.0), two_thirds = 2.0 / 3.0;
  const traced one = identity(size_of(x)), square = product(x, x);
  const auto sum = [](std::initializer_list<std::pair<double, const traced*>> terms) {
    traced all(0.0);
    for (const auto& [by, m] : terms) all = all + traced(by) * *m;
    return all;
  };
  const traced fourth =
      product(square, sum({{two_thirds * (1 + root) / 88, &x}, {two_thirds * (1 + root) / 352, &square}}));
  const traced eighth = product(sum({{two_thirds, &square}, {1.0, &fourth}}),
                                sum({{(-271 + 29 * root) / (315 * two_thirds), &one},
                                     {(-11 + 11 * root) / (1260 * two_thirds), &x},
                                     {(-99 + 11 * root) / (5040 * two_thirds), &square},
                                     {factor * (89 - root) / (5040 * two_thirds), &fourth}}));
  const traced polynomial = sum({{1.0, &one}, {1.0, &x}, {(857 - 58 * root) / 630, &square}, {1.0, &eighth}});
  return either(less(low, norm) && !less(high, norm), polynomial, skew_exponential(x));
}

traced step_by_step(const traced& x, int more) {
  constexpr int most_squarings = 20;  // enough for norms up to 2^19
  traced y = x * traced(std::ldexp(1.0, -more));
  const traced norm = norm_of(y, -1);
  const auto is_scaled = [&](int k) { return less(traced(std::ldexp(1.0, k - 2)), norm); };  // for the k-th time
  for (int k = 1; k <= most_squarings; ++k) y = either(is_scaled(k), y * traced(0.5), y);
  const traced one = identity(size_of(x));
  traced r = one + y / traced(14.0);
  for (int k = 13; k >= 1; --k) r = one + product(y, r) / traced(static_cast<double>(k));
  for (int k = 1; k <= most_squarings; ++k) r = either(is_scaled(k), product(r, r), r);
  for (int k = 0; k < more; ++k) r = product(r, r);
  return r;
}

traced with_slope_of_first_order(const traced& x) {
  const traced r = skew_exponential(x);
  return with_gradient_of(r, product(detach(r), x));
}

}  // namespace assay::properties::exponentials
