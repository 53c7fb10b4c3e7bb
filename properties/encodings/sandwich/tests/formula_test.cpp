// Biases of Sandwich small enough to check by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "properties/kinds/pair_bias.hpp"

using namespace assay;
using properties::bias_by_hand;

namespace {
constexpr const char* operation = "sandwich/bias";
}

TEST_CASE("sandwich/formula/by_hand", "[property]") {
  // d = 2 and k = 1: theta = 1 / b. With one head, c = 8.
  core::attributes settings{
      {"heads", std::int64_t{1}}, {"width", std::int64_t{2}}, {"base", 1.0}, {"future", std::string("symmetric")}};
  const auto bias = bias_by_hand(operation, {}, {3}, {3, 2, 4, 1}, settings).values;
  CHECK(bias(0, 0, 0) == 0.0);
  CHECK(bias(0, 0, 1) == -0.0574622117664825353);  // (cos 1 - 1) / 8
  CHECK(bias(0, 0, 2) == bias(0, 0, 1));
  CHECK(bias(0, 0, 3) == -0.177018354568392798);  // (cos 2 - 1) / 8
  settings["offset"] = false;
  CHECK(bias_by_hand(operation, {}, {3}, {3}, settings).values(0, 0, 0) == 0.125);
  settings["future"] = std::string("masked");
  CHECK(std::isinf(bias_by_hand(operation, {}, {3}, {4}, settings).values(0, 0, 0)));
}

TEST_CASE("sandwich/formula/is_not_monotone", "[property]") {
  // The standard width and base: the bias rises from t = 13 to 14. That of head 0 is twice that of head 1.
  const auto bias = bias_by_hand(operation, {}, {3000}, {3000 - 13, 3000 - 14, 3000 - 1});
  CHECK(bias.values(0, 0, 1) > bias.values(0, 0, 0));
  CHECK(bias.values(0, 0, 2) > bias.values(1, 0, 2) * 2.0000001);
  CHECK(bias.values(0, 0, 2) < bias.values(1, 0, 2) * 1.9999999);
}

TEST_CASE("sandwich/formula/odd_widths_are_refused", "[property]") {
  const core::operation& op = *reference::find_operation(operation);
  CHECK_FALSE(core::conflict_within(op, core::completed(op, {{"width", std::int64_t{7}}})).empty());
  CHECK(core::conflict_within(op, core::completed(op, {{"width", std::int64_t{8}}})).empty());
}
