// States small enough to compute by hand.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

namespace {

// One number for each token of a head, and one for its state.
core::tensor tokens(std::vector<double> x) {
  return make_tensor(dtype::f64, {1, x.size(), 1, 1}, std::vector<double>(x.begin(), x.end()));
}
core::tensor numbers(std::vector<double> x) { return make_tensor(dtype::f64, {1, x.size(), 1}, std::move(x)); }
core::tensor state(double x) { return make_tensor(dtype::f64, {1, 1, 1, 1}, {x}); }

reference::certified_outputs outputs_of(const char* operation, core::tensors inputs) {
  return reference::certify(
      {reference::find_operation(std::string("linear_attention/") + operation), dtype::f64, std::move(inputs), {}});
}

}  // namespace

TEST_CASE("linear_attention/gates/by_hand", "[property]") {
  // The state is halved, and 3 * 5 is added; the second token forgets the state.
  const auto made = outputs_of("scalar_gates", {{"q", tokens({2, 1})},
                                                {"k", tokens({3, 1})},
                                                {"v", tokens({5, 7})},
                                                {"g", numbers({-std::log(2), -1e6})},
                                                {"s0", state(4)}});
  CHECK(made.at("o").rounded.values(0, 0, 0, 0) == Approx(34.0).epsilon(1e-15));
  CHECK(made.at("o").rounded.values(0, 1, 0, 0) == 7.0);
  CHECK(made.at("s_n").rounded.values(0, 0, 0, 0) == 7.0);
}

TEST_CASE("linear_attention/delta_rule/by_hand", "[property]") {
  // With beta = 1 a key of length 1 has its value from then on; with 1/2 it has half of the old content plus half of
  // the value.
  const auto made = outputs_of("delta_rule", {{"q", tokens({1, 1})},
                                              {"k", tokens({1, 1})},
                                              {"v", tokens({5, 7})},
                                              {"beta", numbers({1, 0.5})},
                                              {"s0", state(100)}});
  CHECK(made.at("o").rounded.values(0, 0, 0, 0) == 5.0);
  CHECK(made.at("o").rounded.values(0, 1, 0, 0) == 6.0);
  // The state fades before the difference is read: 3 - 8/2.
  const auto gated = outputs_of("gated_delta_rule", {{"q", tokens({1})},
                                                     {"k", tokens({1})},
                                                     {"v", tokens({3})},
                                                     {"beta", numbers({0.5})},
                                                     {"g", numbers({-std::log(2)})},
                                                     {"s0", state(8)}});
  CHECK(gated.at("s_n").rounded.values(0, 0, 0, 0) == Approx(3.5).epsilon(1e-15));
}

TEST_CASE("linear_attention/low_rank_rule/by_hand", "[property]") {
  // 8/2 + b a 8 + k v = 4 - 2 + 15; a applies to the state before it fades.
  const auto made = outputs_of("low_rank_rule", {{"q", tokens({1})},
                                                 {"k", tokens({3})},
                                                 {"v", tokens({5})},
                                                 {"g", tokens({-std::log(2)})},
                                                 {"a", tokens({1})},
                                                 {"b", tokens({-0.25})},
                                                 {"s0", state(8)}});
  CHECK(made.at("s_n").rounded.values(0, 0, 0, 0) == Approx(17.0).epsilon(1e-15));
}

TEST_CASE("linear_attention/no_token", "[property]") {
  const auto made = outputs_of("retention", {{"q", tokens({})},
                                             {"k", tokens({})},
                                             {"v", tokens({})},
                                             {"log_decay", make_tensor(dtype::f64, {1}, {-1})},
                                             {"s0", state(8)}});
  CHECK(made.at("o").rounded.size() == 0);
  CHECK(made.at("s_n").rounded.values(0, 0, 0, 0) == 8.0);
}
