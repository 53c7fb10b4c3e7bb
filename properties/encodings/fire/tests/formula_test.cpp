// Biases of FIRE small enough to check by hand: one hidden unit of weight 1, which the head weighs -2, and 1/2 added.
#include <catch2/catch.hpp>
#include <cmath>

#include "properties/kinds/pair_bias.hpp"

using namespace assay;
using properties::bias_by_hand;

TEST_CASE("fire/formula/by_hand", "[property]") {
  const std::map<std::string, std::vector<double>> network{{"c", {-1}}, {"multiplier", {-1}}, {"w1", {1}},
                                                           {"b1", {0}}, {"w2", {-2}},         {"b2", {0.5}}};
  const core::attributes settings{{"threshold", 3.0}, {"epsilon", 0.0}};
  // x = log(1 + t) / log(1 + max(3, i))
  const auto near = bias_by_hand("fire/bias", network, {2}, {2, 1, 3}, settings).values;
  CHECK(near(0, 0, 0) == 0.5);
  CHECK(near(0, 0, 1) == -0.5);  // log 2 / log 4
  CHECK(std::isinf(near(0, 0, 2)));
  const auto far = bias_by_hand("fire/bias", network, {15}, {12, 0}, settings).values;
  CHECK(far(0, 0, 0) == -0.5);  // log 4 / log 16
  CHECK(far(0, 0, 1) == -1.5);  // 1
}
