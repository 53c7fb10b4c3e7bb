// Scales of xPos small enough to check by hand.
#include <catch2/catch.hpp>

#include "properties/kinds/table.hpp"
#include "reference/oracle.hpp"

using namespace assay;

TEST_CASE("xpos/formula/by_hand", "[property]") {
  // gamma = 1, two pairs: zeta is 1/2 and 3/4. Positions 1 to 3 with centre 2 and B = 1: exponents -1, 0 and 1.
  core::attributes settings{
      {"pairs", std::int64_t{2}}, {"gamma", 1.0}, {"scale_base", 1.0}, {"center", std::int64_t{2}}};
  const auto scale = [&] { return properties::table_by_hand("xpos/scale", {{"position", {1, 2, 3}}}, settings); };
  CHECK(scale() == std::vector<double>{2.0, 4.0 / 3.0, 1.0, 1.0, 0.5, 0.75});
  settings["down"] = true;
  CHECK(scale() == std::vector<double>{0.5, 0.75, 1.0, 1.0, 2.0, 4.0 / 3.0});

  // One pair, zeta = 1/2: at position 2 the pair (1, 0) becomes (cos 2, sin 2) / 4.
  core::request call{reference::find_operation("xpos/rotate"),
                     core::dtype::f64,
                     {{"x", core::make_tensor(core::dtype::f64, {1, 1, 1, 3}, {1, 0, 7})},
                      {"position", core::make_tensor(core::dtype::i64, {1, 1}, {2})}},
                     {{"gamma", 1.0}, {"scale_base", 1.0}}};
  const auto y = reference::certify(call).at("y").rounded.values;
  CHECK(y(0, 0, 0, 0) == -0.4161468365471424 / 4);
  CHECK(y(0, 0, 0, 1) == 0.90929742682568170 / 4);
  CHECK(y(0, 0, 0, 2) == 7.0);  // not in a pair
}
