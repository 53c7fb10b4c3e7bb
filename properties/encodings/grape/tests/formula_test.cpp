// Biases small enough to compute by hand.
#include <catch2/catch.hpp>
#include <cmath>
#include <utility>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

namespace {

// One row and one head of tokens with so many features.
core::tensor tokens_of(std::size_t d, std::vector<double> x) {
  const std::size_t n = x.size() / d;
  return make_tensor(dtype::f64, {1, n, 1, d}, std::move(x));
}
core::tensor of_head(std::vector<double> x) {
  const std::size_t d = x.size();
  return make_tensor(dtype::f64, {1, d}, std::move(x));
}
std::vector<double> bias_of(const char* operation, core::tensors inputs, core::attributes settings = {}) {
  const auto made =
      reference::certify({reference::find_operation(operation), dtype::f64, std::move(inputs), std::move(settings)});
  const auto& b = made.at("bias").rounded.values.storage();
  return {b.begin(), b.end()};
}
double plus(double x) { return std::log1p(std::exp(x)); }

// v and u each select two of four features: v . q is 0, 1, 2 and u . k is 3, 0, -1.
core::tensors gated_inputs() {
  return {{"q", tokens_of(4, {0, 0, 5, 5, 1, 0, 5, 5, 1, 1, 5, 5})},
          {"k", tokens_of(4, {5, 5, 3, 0, 5, 5, 1, -1, 5, 5, 0, -1})},
          {"v", of_head({1, 1, 0, 0})},
          {"u", of_head({0, 0, 1, 1})},
          {"omega", make_tensor(dtype::f64, {1}, {0.5})}};
}

}  // namespace

TEST_CASE("grape/gated_bias/by_hand", "[property]") {
  // Half of the products: d = 4. The third query is 2 from the first key and 1 from the second.
  const auto b = bias_of("grape/gated_bias", gated_inputs());
  for (const std::size_t own : {0, 4, 8}) CHECK(b[own] == 0.0);
  for (const std::size_t later : {1, 2, 5}) CHECK(b[later] == -INFINITY);
  CHECK(b[3] == Approx(-0.5 * (plus(0.5) + plus(1.5))).epsilon(1e-15));
  CHECK(b[6] == Approx(-1.0 * (plus(1) + plus(1.5))).epsilon(1e-15));
  CHECK(b[7] == Approx(-0.5 * (plus(1) + plus(0))).epsilon(1e-15));
}

TEST_CASE("grape/gated_bias/settings", "[property]") {
  const auto key_bias =
      bias_of("grape/gated_bias", gated_inputs(), {{"gates", std::string("key")}, {"scale", std::string("one")}});
  CHECK(key_bias[6] == Approx(-plus(3)).epsilon(1e-15));
  CHECK(key_bias[7] == Approx(-0.5 * plus(0)).epsilon(1e-15));
  const auto query_bias =
      bias_of("grape/gated_bias", gated_inputs(), {{"gates", std::string("query")}, {"future", std::string("zero")}});
  CHECK(query_bias[6] == Approx(-plus(1)).epsilon(1e-15));
  for (const std::size_t later : {1, 2, 5}) CHECK(query_bias[later] == 0.0);
}

TEST_CASE("grape/path_bias/by_hand", "[property]") {
  // Scores are half of the products. Those of the third query are 1, 0 and -2: the first one, of the first key, counts
  // nowhere.
  const auto b = bias_of("grape/path_bias", {{"p", tokens_of(2, {9, 9, 2, 0, 1, 1})},
                                             {"y", tokens_of(2, {1, 1, 4, -4, -1, -3})},
                                             {"slopes", make_tensor(dtype::f64, {1}, {0.25})}});
  const auto gate = [](double x) { return -0.25 * plus(-x); };
  for (const std::size_t own : {0, 4, 8}) CHECK(b[own] == 0.0);
  for (const std::size_t later : {1, 2, 5}) CHECK(b[later] == -INFINITY);
  CHECK(b[3] == Approx(gate(4)).epsilon(1e-15));
  CHECK(b[6] == Approx(gate(0) + gate(-2)).epsilon(1e-15));
  CHECK(b[7] == Approx(gate(-2)).epsilon(1e-15));
}

TEST_CASE("grape/path_bias/special_values", "[property]") {
  // A NaN in y of the first token counts nowhere. One in p of a query stays in its row.
  const auto b = bias_of("grape/path_bias", {{"p", tokens_of(1, {0, 0, NAN})},
                                             {"y", tokens_of(1, {NAN, 0, 0})},
                                             {"slopes", make_tensor(dtype::f64, {1}, {1})}});
  CHECK(b[3] == Approx(-std::log(2.0)).epsilon(1e-15));
  CHECK(std::isnan(b[6]));
  CHECK(std::isnan(b[7]));
  CHECK(b[8] == 0.0);
  CHECK(bias_of("grape/path_bias", {{"p", make_tensor(dtype::f64, {1, 0, 1, 2}, {})},
                                    {"y", make_tensor(dtype::f64, {1, 0, 1, 2}, {})},
                                    {"slopes", make_tensor(dtype::f64, {1}, {1})}})
            .empty());
}
