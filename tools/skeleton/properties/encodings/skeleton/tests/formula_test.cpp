// Outputs that a reader can compute by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "properties/kinds/pair_bias.hpp"

using namespace assay;

TEST_CASE("skeleton/formula/by_hand", "[property]") {
  const auto bias = properties::bias_by_hand("skeleton/bias", {{"a", {2}}}, {3}, {3, 2, 0, 4}).values;
  CHECK(bias(0, 0, 0) == 0.0);
  CHECK(bias(0, 0, 1) == -1.0);  // -2 * 1 / 2
  CHECK(bias(0, 0, 2) == -1.5);  // -2 * 3 / 4
  CHECK(std::isinf(bias(0, 0, 3)));
}
