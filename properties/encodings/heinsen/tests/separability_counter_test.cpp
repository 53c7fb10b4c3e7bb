// The open-loop counter on the algorithms, every operation rounded to the dtype: every number of d bits, and where
// the form in two prefix sums loses a sign. See reference/algorithms/separability.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "properties/tests/effort.hpp"
#include "reference/algorithms/saturation.hpp"
#include "reference/algorithms/scans.hpp"
#include "reference/algorithms/separability.hpp"
#include "reference/readings/rounded.hpp"

using namespace assay;
using namespace assay::properties;
using core::dtype;
using reference::const_lane;
using reference::lane;
using reference::rounded;

namespace {

constexpr double margins[] = {0.25, 1, 4};
constexpr std::size_t most_bits = 16;

template <class R>
using scan = void (*)(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s);

// The controls rounded to the dtype: log p itself is rounded, not computed from a rounded logit.
template <class R>
struct rounded_controls {
  explicit rounded_controls(const reference::two_level_controls& exact)
      : log_p(exact.log_p()), plus(exact.h_plus), minus(exact.h_minus) {}
  R log_p, plus, minus;
  [[nodiscard]] const R& input(std::size_t i, std::size_t j) const {
    return reference::counter_sign(i, j) > 0 ? plus : minus;
  }
};

// The states of bit j over the numbers 0, ..., tokens - 1. The decay is a lane of stride 0.
template <class R>
std::vector<R> states_of_bit(scan<R> run, const rounded_controls<R>& c, std::size_t j, std::size_t tokens) {
  std::vector<R> h(tokens), s(tokens);
  for (std::size_t i = 0; i < tokens; ++i) h[i] = c.input(i, j);
  run({&c.log_p, 0, tokens}, {h.data(), 1, tokens}, R(0.0), {s.data(), 1, tokens});
  return s;
}

struct count {
  double margin = std::numeric_limits<double>::infinity();  // negative if a sign is wrong
  std::size_t patterns = 0;                                 // distinct patterns
};

using bit_states = std::vector<std::vector<double>>;

// The counter of `bits` bits: the first 2^bits tokens of the lowest bits, because every algorithm here is causal.
count count_of(const bit_states& s, std::size_t bits) {
  const std::size_t tokens = std::size_t{1} << bits;
  std::vector<std::size_t> pattern(tokens, 0);
  count found;
  for (std::size_t j = 0; j < bits; ++j)
    for (std::size_t i = 0; i < tokens; ++i) {
      found.margin = std::min(found.margin, reference::counter_sign(i, j) * s[j][i]);
      if (s[j][i] > 0) pattern[i] |= std::size_t{1} << j;
    }
  std::sort(pattern.begin(), pattern.end());
  found.patterns = static_cast<std::size_t>(std::unique(pattern.begin(), pattern.end()) - pattern.begin());
  return found;
}

// Counts with 1 to `most` bits; returns the result for `most`.
template <class R>
count count_all(scan<R> run, double margin, double least, std::size_t most) {
  const rounded_controls<R> controls(reference::open_loop(margin));
  bit_states s;
  for (std::size_t j = 0; j < most; ++j) {
    s.emplace_back();
    for (const R& x : states_of_bit(run, controls, j, std::size_t{1} << most)) s.back().push_back(x.number);
  }
  count last;
  for (std::size_t bits = 1; bits <= most; ++bits) {
    last = count_of(s, bits);
    INFO(bits << " bits");
    CHECK(last.patterns == std::size_t{1} << bits);
    CHECK(last.margin >= least);
  }
  return last;
}

// Compares to the four decimals of the published table; 0 means none is published.
void check_published(double measured, double published) {
  if (published > 0) CHECK(fmt::format("{:.4f}", measured) == fmt::format("{:.4f}", published));
}

template <dtype Type>
void count_in(double margin, double sequential, double tree) {
  using R = rounded;
  const reference::computing_in format(Type);
  INFO(core::name_of(Type) << ", margin " << margin);
  // Rounding the controls and the states costs a few u of the margin.
  const double least = margin * (Type >= dtype::f16 ? 0.98 : 1 - 1e-6);
  const count seq = count_all<R>(reference::sequential_scan<R>, margin, least, most_bits);
  const count balanced = count_all<R>(reference::balanced_tree_scan<R>, margin, least, most_bits);
  const count doubling = count_all<R>(reference::doubling_tree_scan<R>, margin, least, 12);
  const count linear = count_all<R>(reference::linear_scan<R>, margin, least, most_bits);
  const auto expected = [](double x) { return x > 0 ? fmt::format("{:.4f}", x) : std::string("-"); };
  fmt::print("{:6} {:5} | {:9.4f} {:>9} | {:9.4f} {:>9} | {:9.4f} | {:9.4f} | {:9}\n", margin, core::name_of(Type),
             seq.margin, expected(sequential), balanced.margin, expected(tree), doubling.margin, linear.margin,
             seq.patterns);
  check_published(seq.margin, sequential);
  check_published(balanced.margin, tree);
}

}  // namespace

TEST_CASE("heinsen/separability/counter_of_1_to_16_bits", "[property][separability]") {
  fmt::print(
      "\nOpen-loop counter, 16 bits (*: 12), every number: smallest margin, and the published table's\n"
      "{:>6} {:5} | {:>9} {:>9} | {:>9} {:>9} | {:>9} | {:>9} | {:>9}\n",
      "margin", "dtype", "sequent.", "expected", "tree", "expected", "doubling*", "linear", "patterns");
  for (const double m : margins) count_in<dtype::f64>(m, 0, 0);
  for (const double m : margins) count_in<dtype::f32>(m, m, m);
  const double f16_sequential[] = {0.25, 0.9995, 4}, f16_tree[] = {0.25, 0.9990, 4};
  for (std::size_t k = 0; k < 3; ++k) count_in<dtype::f16>(margins[k], f16_sequential[k], f16_tree[k]);
  const double bf16_sequential[] = {0.25, 1.0078, 4}, bf16_tree[] = {0.2480, 1, 4};
  for (std::size_t k = 0; k < 3; ++k) count_in<dtype::bf16>(margins[k], bf16_sequential[k], bf16_tree[k]);
}

namespace {

// The first token with a wrong sign in one of the lowest `bits` bits; 0 if there is none up to `tokens`.
template <class R>
std::size_t first_wrong_sign(double margin, std::size_t bits, std::size_t tokens) {
  const rounded_controls<R> c(reference::open_loop(margin));
  std::vector<reference::prefix_sums<R>> sums(bits, reference::prefix_sums<R>(R(0.0)));
  for (std::size_t i = 0; i < tokens; ++i)
    for (std::size_t j = 0; j < bits; ++j)
      if (!(reference::counter_sign(i, j) * sums[j].step(c.log_p, c.input(i, j)).number > 0)) return i + 1;
  return 0;
}

template <dtype Type>
void fail_in(double margin, double published) {
  const reference::computing_in format(Type);
  const double predicted =
      reference::predicted_cumsum_failure(core::unit_roundoff(Type), margin, reference::open_loop(margin).log_p());
  const std::size_t first = first_wrong_sign<rounded>(margin, 4, static_cast<std::size_t>(2 * predicted));
  const double ratio = static_cast<double>(first) / predicted;
  fmt::print("{:6} {:5} | {:9} {:9} {:9.0f} {:8.3f}\n", margin, core::name_of(Type), first, published, predicted,
             ratio);
  INFO(core::name_of(Type) << ", margin " << margin);
  CHECK(ratio >= 0.9);
  CHECK(ratio <= 1.1);
  // |log p| > 2 m, so no margin takes the form beyond 1 / (2 u): 23, 10 and 7 bits in f32, f16 and bf16.
  CHECK(static_cast<double>(first) < 0.5 / core::unit_roundoff(Type));
}

}  // namespace

TEST_CASE("heinsen/separability/cumsum_loses_the_sign_at_the_predicted_token", "[property][separability]") {
  fmt::print(
      "\nTwo prefix sums: first wrong sign at token n, predicted m / (u |log p|)\n"
      "{:>6} {:5} | {:>9} {:>9} {:>9} {:>8}\n",
      "margin", "dtype", "n", "expected", "predicted", "ratio");
  const double f32[] = {2.82e6, 5.72e6, 8.20e6}, f16[] = {345, 700, 1002}, bf16[] = {44, 89, 125};
  for (std::size_t k = 0; k < 3; ++k) {
    fail_in<dtype::f32>(margins[k], f32[k]);
    fail_in<dtype::f16>(margins[k], f16[k]);
    fail_in<dtype::bf16>(margins[k], bf16[k]);
  }
}
