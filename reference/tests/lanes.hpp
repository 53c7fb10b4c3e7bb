// Lanes of the log-linear recurrence for the tests at 100 digits, and the measures that those tests use.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "reference/core/counter_random.hpp"
#include "reference/readings/value.hpp"

namespace assay::reference::testing {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Inputs of one lane; `name` and the seed in it reproduce the lane.
template <class R>
struct lane_of {
  std::vector<R> a, h;
  R s0;
  std::string name{};

  [[nodiscard]] std::size_t size() const { return a.size(); }
};
using value_lane = lane_of<value>;

template <class R>
const_lane<R> read(const std::vector<R>& x) {
  return {x.data(), 1, x.size()};
}
template <class R>
lane<R> write(std::vector<R>& x) {
  return {x.data(), 1, x.size()};
}

/// The ways to fill a lane. The infinite ones hold -inf in h, in a or in s0.
enum class filling { mild, slow_decay, fast_decay, wide, infinite_prefix, infinite_inside };
inline constexpr std::array fillings{filling::mild, filling::slow_decay,      filling::fast_decay,
                                     filling::wide, filling::infinite_prefix, filling::infinite_inside};
constexpr bool is_finite(filling f) { return f < filling::infinite_prefix; }

/// The lane of a filling, a length and a seed: deterministic.
inline value_lane make_lane(filling f, std::size_t n, std::uint64_t seed) {
  core::counter_random random(seed * 8 + static_cast<std::uint64_t>(f));
  value_lane x{
      {},
      {},
      value(random.normal()),
      "filling " + std::to_string(static_cast<int>(f)) + " n " + std::to_string(n) + " seed " + std::to_string(seed)};
  const std::size_t prefix = random.below(n + 1);
  for (std::size_t i = 0; i < n; ++i) {
    double a = -random.uniform(0.01, 2), h = random.normal();
    if (f == filling::slow_decay) a *= 0x1p-12;
    if (f == filling::fast_decay) a -= 40;
    if (f == filling::wide) h *= 50;
    if (f == filling::infinite_prefix && i < prefix) h = -infinity;
    if (f == filling::infinite_inside && random.one_in(3)) h = -infinity;
    if (f == filling::infinite_inside && random.one_in(6)) a = -infinity;
    x.a.emplace_back(a);
    x.h.emplace_back(h);
  }
  if (f == filling::infinite_prefix) x.s0 = value(-infinity);
  return x;
}

/// n numbers of order 1, of either sign.
inline std::vector<value> random_values(std::size_t n, core::counter_random& random) {
  std::vector<value> x;
  for (std::size_t i = 0; i < n; ++i) x.emplace_back(random.normal());
  return x;
}

/// |x - y| / max(1, |y|); 0 for the same infinity, infinite where only one of them is not finite.
inline double deviation(const value& x, const value& y) {
  using boost::multiprecision::abs, boost::multiprecision::isfinite;
  if (!isfinite(x.number) || !isfinite(y.number))
    return isfinite(x.number) == isfinite(y.number) && x.number == y.number ? 0.0 : infinity;
  const value::real size = abs(y.number) > 1 ? value::real(abs(y.number)) : value::real(1);
  return value::real(abs((x - y).number) / size).convert_to<double>();
}

/// The largest deviation of equally long sequences.
inline double deviation(const std::vector<value>& x, const std::vector<value>& y) {
  double largest = x.size() == y.size() ? 0.0 : infinity;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) largest = std::max(largest, deviation(x[i], y[i]));
  return largest;
}

/// Whether x <= y, to the last digits of `value`.
inline bool at_most(const value& x, const value& y) { return x.number <= y.number || deviation(x, y) < 1e-95; }

inline value dot(const std::vector<value>& x, const std::vector<value>& y) {
  value sum(0.0);
  for (std::size_t i = 0; i < x.size(); ++i) sum = sum + x[i] * y[i];
  return sum;
}

/// One scale variable multiplies the effort of all property tests.
inline std::uint64_t scaled(std::uint64_t effort) {
  const char* scale = std::getenv("ASSAY_TEST_SCALE");
  return effort * (scale ? std::max(1ul, std::strtoul(scale, nullptr, 10)) : 1);
}

}  // namespace assay::reference::testing
