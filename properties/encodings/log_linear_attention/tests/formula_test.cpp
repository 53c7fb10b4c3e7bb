// Levels few enough to count by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

namespace {

// o of tokens whose queries and keys are 1, the same weights for all of them.
std::vector<double> read(std::vector<double> v, const std::vector<double>& lambda, std::vector<double> g) {
  const std::size_t n = v.size();
  std::vector<double> all_weights;
  for (std::size_t t = 0; t < n; ++t) all_weights.insert(all_weights.end(), lambda.begin(), lambda.end());
  const core::tensor ones = make_tensor(dtype::f64, {1, n, 1, 1}, std::vector<double>(n, 1.0));
  const auto made =
      reference::certify({reference::find_operation("log_linear_attention/scalar_gates"),
                          dtype::f64,
                          {{"q", ones},
                           {"k", ones},
                           {"v", make_tensor(dtype::f64, {1, n, 1, 1}, std::move(v))},
                           {"g", make_tensor(dtype::f64, {1, n, 1}, std::move(g))},
                           {"level_scales", make_tensor(dtype::f64, {1, n, 1, lambda.size()}, all_weights)}},
                          {}});
  const auto& o = made.at("o").rounded.values.storage();
  return {o.begin(), o.end()};
}

}  // namespace

TEST_CASE("log_linear_attention/scalar_gates/levels_by_hand", "[property]") {
  // Tokens 0 to 4. Of query 2, which is 10 in binary digits, 1 and 0 are both at level 2, and none is at level 1. Of
  // query 3 token 2 is at level 1. Of query 4 all others are at level 3.
  const std::vector<double> o = read({1, 2, 4, 8, 16}, {1, 10, 100, 1000}, {0, 0, 0, 0, 0});
  CHECK(o[0] == 1);
  CHECK(o[1] == 2 + 10 * 1);
  CHECK(o[2] == 4 + 100 * (1 + 2));
  CHECK(o[3] == 8 + 10 * 4 + 100 * (1 + 2));
  CHECK(o[4] == 16 + 1000 * (1 + 2 + 4 + 8));
}

TEST_CASE("log_linear_attention/scalar_gates/gates_by_hand", "[property]") {
  // The gate of the first token fades nothing; that of the last one fades all but itself.
  const std::vector<double> o = read({1, 2, 4}, {1, 10, 100}, {-5, -std::log(4), -std::log(2)});
  CHECK(o[0] == 1);
  CHECK(o[1] == Approx(2 + 10 * 0.25).epsilon(1e-15));
  CHECK(o[2] == Approx(4 + 100 * (0.5 * 2 + 0.125)).epsilon(1e-15));
}

TEST_CASE("log_linear_attention/scalar_gates/few_levels", "[property]") {
  CHECK(reference::find_operation("log_linear_attention/scalar_gates")
            ->conflict({}, {{"B", 1}, {"n", 5}, {"h", 1}, {"d", 1}, {"e", 1}, {"l", 3}}) ==
        "5 tokens have 4 levels, and l is 3");
}
