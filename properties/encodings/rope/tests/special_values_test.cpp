// At angle 0 a NaN may reach its partner or leave it as it is; nothing else is right.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "properties/tests/changed.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

// Tokens at positions 0 and 3, pairs side by side: NaN in the first pair of the first and in the second of the other.
test_case with_nan() {
  const core::operation* op = reference::find_operation("rope/rotate");
  return {{op,
           core::dtype::f32,
           {{"x",
             core::make_tensor(core::dtype::f32, {1, 2, 1, 4}, {no_number, 0.5, 0.25, 1.0, 0.5, 1.0, no_number, 0.75})},
            {"position", core::make_tensor(core::dtype::i64, {1, 2}, {0.0, 3.0})}},
           core::completed(*op, {})},
          "nan_inside",
          1};
}

// With the elements of y where x is NaN, and those beside them, put to what is given for them.
status verdict_with(double there, double beside) {
  changed under_test([=](const request& call, core::tensors& outputs) {
    const auto& x = call.inputs.at("x").values.storage();
    if (call.operation->name != "rope/rotate") return;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (std::isnan(x[i])) {
        outputs.at("y").values.storage()[i] = there;
        outputs.at("y").values.storage()[i ^ 1] = beside == 1.0 ? x[i ^ 1] : beside;
      }
  });
  return find_property("rotation_nan_at_0")->check(under_test, with_nan()).verdict;
}

}  // namespace

TEST_CASE("rope/rotate/a_nan_at_angle_0_stays_in_its_pair", "[unit][rope]") {
  CHECK(verdict_with(no_number, no_number) == status::passed);
  CHECK(verdict_with(no_number, 1.0) == status::passed);  // the partner is left alone
  CHECK(verdict_with(no_number, 0.0) == status::failed);
  CHECK(verdict_with(0.0, no_number) == status::failed);
}

TEST_CASE("rope/rotate/no_counterexample_rests_on_a_nan_at_angle_0", "[unit][rope]") {
  const encoding_tests* tests = encoding_tests_of(*reference::find_operation("rope/rotate"));
  REQUIRE(tests);
  test_case c = with_nan();
  CHECK(tests->rests_on_convention(c.call));
  c.call.inputs.at("position").values.storage()[0] = 1.0;
  CHECK_FALSE(tests->rests_on_convention(c.call));
  for (const char* name : {"rope/rotate", "rope/rotate_by"})
    for (const core::dtype type : core::floating_dtypes)
      for (std::uint64_t seed = 0; seed < scaled(40); ++seed)
        for (const char* family : {"nan_inside", "infinite_x"}) {
          INFO(name << " " << core::name_of(type) << " " << family << " seed " << seed);
          CHECK_FALSE(
              tests->rests_on_convention(make_case({reference::find_operation(name), type, family, seed}).call));
        }
}
