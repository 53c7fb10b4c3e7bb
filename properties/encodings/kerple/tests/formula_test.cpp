// Biases of KERPLE small enough to check by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "properties/kinds/pair_bias.hpp"
#include "properties/tests/by_hand.hpp"

using namespace assay;
using properties::bias_by_hand;

TEST_CASE("kerple/formula/by_hand", "[property]") {
  const auto log = bias_by_hand("kerple/log", {{"r1", {2}}, {"r2", {3}}}, {5}, {5, 4, 6}).values;
  CHECK(log(0, 0, 0) == 0.0);
  CHECK(log(0, 0, 1) == -4 * 0.69314718055994530942);  // -2 log 4
  CHECK(std::isinf(log(0, 0, 2)));
  const auto both =
      bias_by_hand("kerple/log", {{"r1", {2}}, {"r2", {3}}}, {5}, {6}, {{"future", std::string("symmetric")}});
  CHECK(both.values(0, 0, 0) == log(0, 0, 1));
  const auto power = bias_by_hand("kerple/power", {{"r1", {0.5}}, {"r2", {0.5}}}, {9}, {9, 5, 0}).values;
  CHECK(power(0, 0, 0) == 0.0);
  CHECK(power(0, 0, 1) == -1.0);
  CHECK(power(0, 0, 2) == -1.5);
  const auto log_power = bias_by_hand("kerple/log_power", {{"r1", {2}}, {"r2", {0.75}}, {"r3", {2}}}, {2}, {0}).values;
  CHECK(log_power(0, 0, 0) == -4 * 0.69314718055994530942);  // -2 log(1 + 0.75 * 4)
}

// 0^0 is 1 in every library; a program without a bias at distance 0 is right too.
TEST_CASE("kerple/formula/zero_to_the_zero", "[property]") {
  using core::dtype;
  const auto call = [](const std::string& operation, const std::map<std::string, double>& parameters,
                       std::int64_t key) {
    core::tensors in;
    for (const auto& [name, x] : parameters)
      in.emplace(name, core::make_tensor(dtype::f32, name == "s" ? core::shape{1, 1, 1, 1} : core::shape{1},
                                         std::vector<double>{x}));
    const auto position = [](std::int64_t place) {
      return core::make_tensor(dtype::i64, {1}, std::vector<double>{static_cast<double>(place)});
    };
    in.emplace("query_position", position(2)), in.emplace("key_position", position(key));
    return properties::call_by_hand(operation, dtype::f32, std::move(in));
  };
  for (const double r1 : {0.25, 30.0}) {
    const auto bias = call("kerple/power", {{"r1", r1}, {"r2", 0}}, 2);
    CHECK(bias.truth("bias") == -r1);
    CHECK(bias.allows(0, "bias"));
    CHECK(!bias.allows(r1, "bias"));
    const auto apart = call("kerple/power", {{"r1", r1}, {"r2", 0}}, 1);
    CHECK((apart.truth("bias") == -r1 && !apart.allows(0, "bias")));
    const auto near_zero = call("kerple/power", {{"r1", r1}, {"r2", 1e-30}}, 2);
    CHECK((near_zero.truth("bias") == 0.0 && !near_zero.allows(-r1, "bias")));
  }
  for (const double r2 : {0.5, 100.0}) {
    const auto bias = call("kerple/log_power", {{"r1", 2}, {"r2", r2}, {"r3", 0}}, 2);
    CHECK(bias.truth("bias") == Approx(-2 * std::log1p(r2)));
    CHECK((bias.allows(0, "bias") && !bias.allows(-bias.truth("bias"), "bias")));
  }
  const auto scores = call("kerple/weighted_scores", {{"s", 3}, {"w1", 0.5}, {"w2", 0}, {"r1", 0.25}, {"r2", 1}}, 2);
  CHECK(scores.truth("scores") == Approx(3 * std::exp(-0.5)));
  CHECK((scores.allows(3, "scores") && !scores.allows(-3, "scores")));
  const auto scores_of_w2_one =
      call("kerple/weighted_scores", {{"s", 3}, {"w1", 0.5}, {"w2", 1}, {"r1", 0.25}, {"r2", 1}}, 2);
  CHECK((scores_of_w2_one.truth("scores") == 3 && !scores_of_w2_one.allows(3 * std::exp(-0.5), "scores")));
}
