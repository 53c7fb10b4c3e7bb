// Outputs that a reader can compute by hand.
#include <catch2/catch.hpp>
#include <string>

#include "properties/builtin.hpp"
#include "reference/oracle.hpp"

using namespace assay;

TEST_CASE("skeleton/scale/by_hand", "[property][skeleton]") {
  using core::dtype;
  const core::request call{reference::find_operation("skeleton/scale"),
                           dtype::f64,
                           {{"x", core::make_tensor(dtype::f64, {1, 2, 1}, {3.0, 5.0})},
                            {"a", core::make_tensor(dtype::f64, {1}, {2.0})},
                            {"b", core::make_tensor(dtype::f64, {1}, {0.5})},
                            {"position", core::make_tensor(dtype::i64, {2}, {1.0, 4.0})}},
                           {{"sign", std::string("minus")}}};
  const core::tensor by_hand = core::make_tensor(dtype::f64, {1, 2, 1}, {5.5, 8.0});  // 2*3 - 0.5*1, 2*5 - 0.5*4
  CHECK(core::identical(reference::certify(call).at("y").rounded, by_hand));
  CHECK(core::identical(properties::make_builtin("optimized").value()->evaluate(call).value().at("y"), by_hand));
}
