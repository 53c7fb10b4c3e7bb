// Far into a sequence the nearest pair keeps its digits: D_{i,i-1} = log f_i, where a difference of prefix sums loses
// an ulp of the sums (`assay explore --sweep biases` shows how much).
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "optimized/operations.hpp"
#include "reference/core/counter_random.hpp"

using namespace assay;
using core::dtype;

TEST_CASE("fox/decay/nearest_pairs_are_exact", "[property]") {
  constexpr std::size_t tokens = 512;
  for (const double mean : {4.0, 0.0, -3.0}) {
    core::counter_random random(4);
    std::vector<double> log_f(tokens);
    for (double& x : log_f) {
      const double g = mean + random.normal();
      x = std::min(g, 0.0) - std::log1p(std::exp(-std::fabs(g)));
    }
    const core::tensor gates = core::make_tensor(dtype::f32, {1, tokens, 1}, log_f);
    const auto outputs = optimized::evaluate("fox/decay", dtype::f32, {{"log_f", gates}});
    REQUIRE(outputs);
    const auto& d = outputs->at("D").values.storage();
    std::size_t wrong = 0;
    for (std::size_t i = 1; i < tokens; ++i) wrong += d[i * tokens + i - 1] != gates.values.storage()[i];
    CHECK(wrong == 0);
  }
}
