// Far into a long sequence, a decay that is summed from its key on keeps its digits; a difference of prefix sums does
// not (Lin et al. 2025, arXiv 2503.02130, publish the latter).
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "optimized/operations.hpp"
#include "reference/core/counter_random.hpp"

using namespace assay;
using core::dtype;

TEST_CASE("fox/window/error_does_not_grow_with_the_sequence", "[property]") {
  constexpr std::size_t tokens = std::size_t{1} << 20, window = 513;
  core::counter_random random(20);
  std::vector<double> gates(tokens);  // near 1, as in trained models
  std::vector<float> prefix(tokens);
  float sum = 0;
  for (std::size_t i = 0; i < tokens; ++i) {
    gates[i] = core::round_to(dtype::f32, -0.1 * random.uniform(0, 1));
    prefix[i] = sum += static_cast<float>(gates[i]);
  }
  double last_prefix_error = 0;
  for (const std::size_t end : {std::size_t{1} << 10, std::size_t{1} << 14, std::size_t{1} << 17, tokens}) {
    const double *a = gates.data() + end - window, *to = gates.data() + end;
    const float* window_prefix = prefix.data() + end - window;
    const auto outputs = optimized::evaluate(
        "fox/decay", dtype::f32, {{"log_f", core::make_tensor(dtype::f32, {1, window, 1}, std::vector(a, to))}});
    REQUIRE(outputs);
    const auto& d = outputs->at("D").values.storage();
    double summed = 0, prefix_error = 0;  // the largest errors of all pairs, in units of f32's u
    for (std::size_t j = 0; j < window; ++j) {
      double exact = 0;  // a double holds a few hundred terms of the same sign to 2^-44
      for (std::size_t i = j + 1; i < window; ++i) {
        exact += a[i];
        const auto off = [&](double x) { return std::fabs(x - exact) / std::max(1.0, std::fabs(exact)) * 0x1p24; };
        summed = std::max(summed, off(d[i * window + j]));
        prefix_error = std::max(prefix_error, off(static_cast<double>(window_prefix[i] - window_prefix[j])));
      }
    }
    // The law of sequential sums: every addition errs by half an ulp of the sum so far, with 512 additions in a window.
    const double law = window * std::fabs(static_cast<double>(prefix[end - 1]));
    fmt::print("fox/decay f32, |i - j| <= 512, n = {:>7}: optimized {:.2f} u, prefix sums {:.0f} u, law {:.0f} u\n",
               end, summed, prefix_error, law);
    CHECK(summed <= 1.01);
    CHECK(prefix_error <= law);
    if (end > (std::size_t{1} << 14)) CHECK(prefix_error > 4 * last_prefix_error);
    last_prefix_error = prefix_error;
  }
}
