// Biases of KERPLE small enough to check by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "properties/kinds/pair_bias.hpp"

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
