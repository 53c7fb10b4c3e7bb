// Sums and states small enough to compute by hand.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// One lane.
core::tensor tokens(std::vector<double> x) { return make_tensor(dtype::f64, {1, x.size(), 1}, std::move(x)); }
core::tensor state(double x) { return make_tensor(dtype::f64, {1, 1}, {x}); }

reference::certified_outputs outputs_of(const char* operation, core::tensors inputs) {
  return reference::certify(
      {reference::find_operation(std::string("log_space/") + operation), dtype::f64, std::move(inputs), {}});
}
std::vector<double> lane(const reference::certified_outputs& made, const char* output) {
  const auto& x = made.at(output).rounded.values.storage();
  return {x.begin(), x.end()};
}

}  // namespace

TEST_CASE("log_space/logcumsumexp/by_hand", "[property]") {
  // The sums are 1, 3, 6, 6; there is nothing before the first number.
  const auto y =
      lane(outputs_of("logcumsumexp", {{"x", tokens({-infinity, 0, std::log(2), std::log(3), -infinity})}}), "y");
  CHECK(y[0] == -infinity);
  CHECK(y[1] == 0.0);
  CHECK(y[2] == Approx(std::log(3)).epsilon(1e-15));
  CHECK(y[3] == Approx(std::log(6)).epsilon(1e-15));
  CHECK(y[4] == y[3]);
  // A number far above the earlier ones is not changed by them.
  CHECK(lane(outputs_of("logcumsumexp", {{"x", tokens({1, 1000})}}), "y") == std::vector<double>{1, 1000});
}

TEST_CASE("log_space/logcumsumexp/infinity_and_nan_stay", "[property]") {
  CHECK(lane(outputs_of("logcumsumexp", {{"x", tokens({infinity, -infinity, infinity})}}), "y") ==
        std::vector<double>{infinity, infinity, infinity});
  const auto y = lane(outputs_of("logcumsumexp", {{"x", tokens({5, std::nan(""), infinity, 7})}}), "y");
  CHECK(y[0] == 5.0);
  for (const std::size_t k : {1, 2, 3}) CHECK(std::isnan(y[k]));
}

TEST_CASE("log_space/min_gru/by_hand", "[property]") {
  // z = 1/2: half of 8 plus half of 3 + 1/2; then 3/4 of that plus a quarter of sigmoid(-log 3) = 1/4.
  const auto made =
      outputs_of("min_gru", {{"k", tokens({0, -std::log(3)})}, {"v", tokens({3, -std::log(3)})}, {"h0", state(8)}});
  CHECK(lane(made, "h")[0] == 5.75);
  CHECK(lane(made, "h")[1] == Approx(0.75 * 5.75 + 0.0625).epsilon(1e-15));
  CHECK(lane(made, "h_n")[0] == lane(made, "h")[1]);
}

TEST_CASE("log_space/min_lstm/by_hand", "[property]") {
  // Gates of 1/2 and 1/4 give the shares two thirds and one third.
  const auto made = outputs_of(
      "min_lstm", {{"f", tokens({0})}, {"i", tokens({-std::log(3)})}, {"v", tokens({0.5})}, {"h0", state(6)}});
  CHECK(lane(made, "h")[0] == Approx(4.0 + 1.0 / 3).epsilon(1e-15));
}

TEST_CASE("log_space/log_matmul_exp/by_hand", "[property]") {
  // (2 -3) (5 7)^T = 10 - 21, and (1 -1) (1 1)^T = 0.
  const auto logs = [](std::vector<double> x) {
    for (double& one : x) one = std::log(one);
    return x;
  };
  const auto made = outputs_of("log_matmul_exp", {{"log_a", make_tensor(dtype::f64, {1, 1, 2}, logs({2, 3}))},
                                                  {"sign_a", make_tensor(dtype::f64, {1, 1, 2}, {1, -1})},
                                                  {"log_b", make_tensor(dtype::f64, {1, 2, 1}, logs({5, 7}))},
                                                  {"sign_b", make_tensor(dtype::f64, {1, 2, 1}, {1, 1})}});
  CHECK(lane(made, "log_y")[0] == Approx(std::log(11)).epsilon(1e-15));
  CHECK(lane(made, "sign_y")[0] == -1.0);
  const auto none = outputs_of("log_matmul_exp", {{"log_a", make_tensor(dtype::f64, {1, 1, 2}, {0, 0})},
                                                  {"sign_a", make_tensor(dtype::f64, {1, 1, 2}, {1, -1})},
                                                  {"log_b", make_tensor(dtype::f64, {1, 2, 1}, {0, 0})},
                                                  {"sign_b", make_tensor(dtype::f64, {1, 2, 1}, {1, 1})}});
  CHECK(lane(none, "log_y")[0] == -infinity);
  CHECK(lane(none, "sign_y")[0] == 0.0);
}

TEST_CASE("log_space/signed_scan/by_hand", "[property]") {
  // 2 * 3 - 10 = -4; then -4 times 0, and e^-1000.
  const auto made = outputs_of("signed_scan", {{"log_a", tokens({std::log(2), -infinity})},
                                               {"sign_a", tokens({1, 1})},
                                               {"log_b", tokens({std::log(10), -1000})},
                                               {"sign_b", tokens({-1, 1})},
                                               {"log_x0", state(std::log(3))},
                                               {"sign_x0", state(1)}});
  CHECK(lane(made, "log_x")[0] == Approx(std::log(4)).epsilon(1e-15));
  CHECK(lane(made, "log_x")[1] == -1000.0);
  CHECK(lane(made, "sign_x") == std::vector<double>{-1, 1});
}

TEST_CASE("log_space/no_token", "[property]") {
  const auto made = outputs_of("min_gru", {{"k", tokens({})}, {"v", tokens({})}, {"h0", state(8)}});
  CHECK(made.at("h").rounded.size() == 0);
  CHECK(made.at("h_n").rounded.values(0, 0) == 8.0);
}
