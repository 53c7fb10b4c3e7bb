// Far into a long sequence: a decay that is summed from its key on keeps its digits, a difference of prefix sums does
// not (Lin et al. 2025, arXiv 2503.02130, publish the latter).
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "optimized/operations.hpp"
#include "reference/core/counter_random.hpp"
#include "reference/oracle.hpp"

using namespace assay;

namespace {

constexpr std::size_t tokens = std::size_t{1} << 20, window = 513;

// log f of a long sequence, f32: gates near 1, as trained ones are.
std::vector<double> long_gates() {
  core::counter_random random(20);
  std::vector<double> gates(tokens);
  for (double& x : gates) x = core::round_to(core::dtype::f32, -0.1 * random.uniform(0, 1));
  return gates;
}

core::request window_at(const std::vector<double>& gates, std::size_t first) {
  const std::vector<double> part(gates.begin() + static_cast<std::ptrdiff_t>(first),
                                 gates.begin() + static_cast<std::ptrdiff_t>(first + window));
  return {reference::find_operation("fox/decay"),
          core::dtype::f32,
          {{"log_f", core::make_tensor(core::dtype::f32, {1, window, 1}, part)}}};
}

// The largest error over all pairs of a window, in units of f32's u; `d(i, j)` is what is judged. The exact sums are
// sums of multiples of 2^-60 below 2^6: double-double suffices, and so does one double for a few hundred terms of
// the same sign to 2^-44.
template <class Decay>
double largest_error(const core::request& call, Decay d) {
  const auto& a = call.inputs.at("log_f").values.storage();
  double worst = 0;
  for (std::size_t j = 0; j < window; ++j) {
    double sum = 0;
    for (std::size_t i = j + 1; i < window; ++i) {
      sum += a[i];
      worst = std::max(worst, std::fabs(d(i, j) - sum) / std::max(1.0, std::fabs(sum)) * 0x1p24);
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("fox/window/error_does_not_grow_with_the_sequence", "[property]") {
  const std::vector<double> gates = long_gates();
  std::vector<float> prefix(tokens);
  float sum = 0;
  for (std::size_t i = 0; i < tokens; ++i) prefix[i] = sum += static_cast<float>(gates[i]);

  double last_of_prefix = 0;
  for (const std::size_t end : {std::size_t{1} << 10, std::size_t{1} << 14, std::size_t{1} << 17, tokens}) {
    const std::size_t first = end - window;
    const core::request call = window_at(gates, first);
    const auto outputs = optimized::evaluate("fox/decay", core::dtype::f32, call.inputs);
    REQUIRE(outputs);
    const auto& d = outputs->at("D").values.storage();
    const double summed = largest_error(call, [&](std::size_t i, std::size_t j) { return d[i * window + j]; });
    const double of_prefix = largest_error(
        call, [&](std::size_t i, std::size_t j) { return static_cast<double>(prefix[first + i] - prefix[first + j]); });
    // Of sums one after another: every addition errs by half an ulp of the sum so far, 512 of them within a window.
    const double law = window * std::fabs(static_cast<double>(prefix[end - 1]));
    INFO(fmt::format("n = {}: summed from the key {:.3g} u, difference of prefix sums {:.3g} u, its law {:.3g} u", end,
                     summed, of_prefix, law));
    CHECK(summed <= 1.01);
    CHECK(of_prefix <= law);
    if (end > (std::size_t{1} << 14)) CHECK(of_prefix > 4 * last_of_prefix);
    last_of_prefix = of_prefix;
    fmt::print("fox/decay f32, |i - j| <= 512, n = {:>7}: optimized {:.2f} u, prefix sums {:.0f} u\n", end, summed,
               of_prefix);
  }
}
