// The counter through the module itself; the patterns of constant and periodic inputs; the limits of the linear domain.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <vector>

#include "properties/encodings/heinsen/laws/counter_inputs.hpp"
#include "properties/tests/effort.hpp"
#include "reference/algorithms/scans.hpp"
#include "reference/core/counter_random.hpp"
#include "reference/core/special_values.hpp"
#include "reference/oracle.hpp"
#include "reference/readings/rounded.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::encodings::heinsen;
using core::dtype;
using reference::rounded;

namespace {

constexpr std::uint64_t module_seed = 1103;
using assay::core::infinity;

// A sign pattern: one bit for each feature.
using pattern = std::vector<bool>;

template <class State>
pattern signs(const std::vector<State>& s) {
  pattern p;
  for (const State& x : s) p.push_back(x.number > 0);
  return p;
}

// One step of every feature.
template <class R>
void step(const std::vector<R>& log_p, const std::vector<R>& h, std::vector<R>& s) {
  for (std::size_t j = 0; j < s.size(); ++j) {
    const R before = s[j];
    reference::sequential_scan<R>({&log_p[j], 1, 1}, {&h[j], 1, 1}, before, {&s[j], 1, 1});
  }
}

void count_through_module(dtype type, double margin, std::size_t bits) {
  const core::operation& op = *reference::find_operation("heinsen/embed_position");
  const counter_inputs c = make_counter(op, type, reference::open_loop(margin), bits, {0});
  const auto y = reference::evaluate({&op, type, c.tensors}, reference::accuracy_class::sequential).at("y");
  const auto& x = c.tensors.at("x").values.storage();
  const std::size_t tokens = std::size_t{1} << bits;
  double least = infinity, largest = 0;
  std::set<pattern> seen;
  for (std::size_t i = 0; i < tokens; ++i) {
    pattern p;
    for (std::size_t j = 0; j < bits; ++j) {
      const double s = y.values.storage()[i * bits + j] - x[i * bits + j];
      least = std::min(least, c.sign(0, i, j) * s);
      largest = std::max(largest, std::fabs(s));
      p.push_back(s > 0);
    }
    seen.insert(p);
  }
  // The loss by rounding of y = x + s, and by a few roundings of the controls and the state.
  const double lost = core::half_ulp(type, 1 + largest) + 4 * core::unit_roundoff(type) * (1 + largest);
  fmt::print("{:6} {:5} {:5} {:9} | {:10.5f} {:10.5f}\n", margin, core::name_of(type), bits, seen.size(), least,
             margin - lost);
  INFO(core::name_of(type) << ", margin " << margin);
  CHECK(seen.size() == tokens);
  CHECK(least >= margin - lost);
}

}  // namespace

TEST_CASE("heinsen/separability/embed_position_counts", "[property][separability]") {
  fmt::print(
      "\nheinsen/embed_position as a counter: smallest margin of y - x, and what rounding must leave of it\n"
      "{:>6} {:5} {:>5} {:>9} | {:>10} {:>10}\n",
      "margin", "dtype", "bits", "patterns", "margin", "at least");
  for (const dtype type : core::floating_dtypes)
    for (const double margin : {0.25, 1.0, 4.0}) {
      // 16 bits cost seconds in the emulated dtypes.
      const bool all = effort() > 1 || type == dtype::f32 || margin == 1.0;
      count_through_module(type, margin, all ? 16 : 12);
    }
}

namespace {

// Feature j starts so that it crosses 0 between tokens j and j + 1: with p = 1/2 and X* = 1/2, X_i - X* halves.
template <dtype Type>
std::size_t patterns_of_constant_stream(std::size_t features) {
  using R = rounded;
  const reference::computing_in format(Type);
  const std::vector<R> log_p(features, R(std::log(0.5))), h(features, R(std::log(0.25)));
  std::vector<R> s;
  for (std::size_t j = 0; j < features; ++j)
    s.emplace_back(std::log(0.5 + 0.5 * std::exp2(0.5 + static_cast<double>(j))));
  std::set<pattern> seen{signs(s)};
  for (std::size_t i = 0; i < 2000; ++i) {
    step(log_p, h, s);
    seen.insert(signs(s));
  }
  return seen.size();
}

// The patterns over the last 10 periods of inputs that repeat every `period` tokens.
template <dtype Type>
std::size_t patterns_of_periodic_stream(std::size_t period, std::size_t features) {
  using R = rounded;
  const reference::computing_in format(Type);
  core::counter_random random(module_seed + period);
  std::vector<std::vector<R>> log_p(period), h(period);
  for (std::size_t t = 0; t < period; ++t)
    for (std::size_t j = 0; j < features; ++j) {
      log_p[t].emplace_back(-random.uniform(0.05, 2));
      h[t].emplace_back(2 * random.normal() - 1.5);
    }
  std::vector<R> s(features, R(0.0));
  std::set<pattern> seen;
  for (std::size_t i = 0; i < (1000 + 10) * period; ++i) {
    step(log_p[i % period], h[i % period], s);
    if (i >= 1000 * period) seen.insert(signs(s));
  }
  return seen.size();
}

template <dtype Type>
void watch_streams() {
  INFO(core::name_of(Type));
  std::string line = fmt::format("{:5}", core::name_of(Type));
  for (const std::size_t d : {1, 4, 16}) {
    const std::size_t patterns = patterns_of_constant_stream<Type>(d);
    line += fmt::format(" {:9}", fmt::format("{} / {}", patterns, d + 1));
    CHECK(patterns == d + 1);
  }
  for (const std::size_t period : {1, 2, 5, 12}) {
    const std::size_t patterns = patterns_of_periodic_stream<Type>(period, 16);
    line += fmt::format(" {:9}", fmt::format("{} / {}", patterns, period));
    CHECK(patterns <= period);
    CHECK(patterns >= std::min<std::size_t>(period, 2));
  }
  fmt::print("{}\n", line);
}

}  // namespace

TEST_CASE("heinsen/separability/constant_and_periodic_inputs_show_few_patterns", "[property][separability]") {
  fmt::print(
      "\nDistinct sign patterns / most that are possible: d + 1 under constant inputs, T under period T\n"
      "{:5} {:9} {:9} {:9} {:9} {:9} {:9} {:9}\n",
      "dtype", "d = 1", "d = 4", "d = 16", "T = 1", "T = 2", "T = 5", "T = 12");
  watch_streams<dtype::f64>();
  watch_streams<dtype::f32>();
  watch_streams<dtype::f16>();
  watch_streams<dtype::bf16>();
}

namespace {

// The smallest margin of the counter's lowest bits for X_i = p X_{i-1} + e^{h_i}, s = log X, in the dtype and without a
// shift (Heinsen 2024, eq. (1)).
template <dtype Type>
double linear_margin(double margin) {
  using R = rounded;
  const reference::computing_in format(Type);
  const reference::two_level_controls controls = reference::open_loop(margin);
  const R p = exp(R(controls.log_p()));
  double least = infinity;
  for (std::size_t j = 0; j < 4; ++j) {
    R x(1.0);
    for (std::size_t i = 0; i < 256; ++i) {
      const double sign = reference::counter_sign(i, j);
      x = p * x + exp(R(sign > 0 ? controls.h_plus : controls.h_minus));
      const double shown = sign * log(x).number;
      least = std::isfinite(shown) ? std::min(least, shown) : -infinity;
    }
  }
  return least;
}

struct range_limits {
  double subnormal, normal, largest, kept, lost;  // published limits of s, and margins inside and outside them
};

template <dtype Type>
void check_range(const range_limits& published) {
  const double subnormal = std::log(core::smallest_subnormal(Type)), normal = std::log(core::smallest_normal(Type));
  const double largest = std::log(core::largest_finite(Type));
  const double inside = linear_margin<Type>(published.kept), outside = linear_margin<Type>(published.lost);
  fmt::print("{:5} | {:8.2f} {:8.2f} {:6.2f} | {:8} {:8} {:6} | {:5} -> {:8.4f} {:5} -> {:8.4f}\n", core::name_of(Type),
             subnormal, normal, largest, published.subnormal, published.normal, published.largest, published.kept,
             inside, published.lost, outside);
  INFO(core::name_of(Type));
  CHECK(std::fabs(subnormal - published.subnormal) < 0.05);
  CHECK(std::fabs(normal - published.normal) < 0.05);
  CHECK(std::fabs(largest - published.largest) < 0.05);
  CHECK(inside >= 0.98 * published.kept);
  CHECK_FALSE(outside > 0);
  // The log domain has no such limit.
  using R = rounded;
  const reference::computing_in format(Type);
  const reference::two_level_controls beyond = reference::open_loop(published.lost);
  std::vector<R> s{R(0.0)};
  step<R>({R(beyond.log_p())}, {R(beyond.h_plus)}, s);
  step<R>({R(beyond.log_p())}, {R(beyond.h_minus)}, s);
  CHECK(-s[0].number >= 0.98 * published.lost);
}

}  // namespace

TEST_CASE("heinsen/separability/linear_domain_ends_with_the_exponent_range", "[property][separability]") {
  fmt::print(
      "\nLinear domain without a shift: the s it can hold, and the counter's margin inside and beyond\n"
      "{:5} | {:>8} {:>8} {:>6} | {:^24} |\n",
      "dtype", "subnorm.", "normal", "max", "expected");
  check_range<dtype::f32>({-103.3, -87.3, 88.7, 86, 89});
  check_range<dtype::bf16>({-92.2, -87.3, 88.7, 86, 89});
  check_range<dtype::f16>({-16.6, -9.70, 11.09, 9, 11.2});
}
