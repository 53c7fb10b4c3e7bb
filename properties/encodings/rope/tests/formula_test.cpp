// Rotations and frequencies small enough to check by hand.
#include <catch2/catch.hpp>
#include <string>

#include "reference/oracle.hpp"

using namespace assay;

namespace {

core::tensor by_hand(const char* operation, const std::map<std::string, core::tensor>& inputs,
                     core::attributes settings) {
  const core::request call{reference::find_operation(operation), core::dtype::f64, inputs, std::move(settings)};
  return reference::certify(call).begin()->second.rounded;
}
core::tensor rotated(const std::vector<double>& x, double position, core::attributes settings) {
  return by_hand("rope/rotate",
                 {{"x", core::make_tensor(core::dtype::f64, {1, 1, 1, x.size()}, x)},
                  {"position", core::make_tensor(core::dtype::i64, {1, 1}, {position})}},
                 std::move(settings));
}

constexpr double cos_2 = -0.4161468365471424, sin_2 = 0.90929742682568170, cos_1 = 0.54030230586813972,
                 sin_1 = 0.84147098480789651;

}  // namespace

TEST_CASE("rope/formula/by_hand", "[property]") {
  // Angles 2 and 2 / 100^(1/2); only the first is tested: the pair (1, 0) becomes its cosine and its sine.
  const auto side_by_side = rotated({1, 0, 0, 0, 7}, 2, {{"base", 100.0}}).values;
  CHECK(side_by_side(0, 0, 0, 0) == cos_2);
  CHECK(side_by_side(0, 0, 0, 1) == sin_2);
  CHECK(side_by_side(0, 0, 0, 2) == 0.0);
  CHECK(side_by_side(0, 0, 0, 4) == 7.0);  // the last coordinate of an odd width does not change
  const auto halves = rotated({0, 0, 1, 0, 7}, 2, {{"layout", std::string("half_split")}}).values;
  CHECK(halves(0, 0, 0, 0) == -sin_2);
  CHECK(halves(0, 0, 0, 2) == cos_2);
  // Position 2 is divided by 2, and one pair of two turns.
  const auto partial = rotated({1, 0, 1, 0}, 2, {{"position_scale", 2.0}, {"rotary", std::int64_t{1}}}).values;
  CHECK(partial(0, 0, 0, 0) == cos_1);
  CHECK(partial(0, 0, 0, 1) == sin_1);
  CHECK(partial(0, 0, 0, 2) == 1.0);

  const auto theta = [](const char* scaling, double factor) {
    return by_hand("rope/frequencies", {{"base", core::make_tensor(core::dtype::f64, {1}, {16.0})}},
                   {{"pairs", std::int64_t{4}}, {"scaling", std::string(scaling)}, {"factor", factor}})
        .values;
  };
  const auto none = theta("none", 8.0), ntk = theta("ntk", 8.0), interpolated = theta("interpolation", 8.0);
  for (std::size_t t = 0; t < 4; ++t) {
    CHECK(none(0, t) == std::ldexp(1.0, -static_cast<int>(t)));     // 16^(-t/4)
    CHECK(ntk(0, t) == std::ldexp(1.0, -2 * static_cast<int>(t)));  // times 8^(-t/3)
    CHECK(interpolated(0, t) == none(0, t) / 8.0);
  }
}
