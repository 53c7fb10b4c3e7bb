// Rotations by commuting matrices small enough to check by hand, and where they are those of other encodings.
#include <catch2/catch.hpp>
#include <cmath>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

namespace {

xt::xarray<double> rotated(const core::tensor& p, const char* variant) {
  // Three blocks of two and one coordinate more; axes 2 and 3.
  return reference::certify({reference::find_operation("comrope/rotate"),
                             dtype::f64,
                             {{"x", make_tensor(dtype::f64, {1, 1, 1, 7}, {1, 0, 1, 0, 1, 0, 5})},
                              {"p", p},
                              {"theta", make_tensor(dtype::f64, {2, 3}, {0.5, 1, 0, 0, -1, 2})},
                              {"position", make_tensor(dtype::f64, {1, 2}, {2, 3})}},
                             {{"variant", std::string(variant)}}})
      .at("y")
      .rounded.values;
}

}  // namespace

TEST_CASE("comrope/rotate/by_hand", "[property]") {
  // P_10 - P_01 is 1, 1/2 and 1/4.
  const core::tensor p = make_tensor(dtype::f64, {1, 3, 2, 2}, {3, 4, 5, 6, 0, 0, 0.5, 0, 0, -0.25, 0, 0});
  const auto axial = rotated(p, "ap"), linear = rotated(p, "ld");
  CHECK(axial(0, 0, 0, 0) == std::cos(2.0));  // the first axis
  CHECK(axial(0, 0, 0, 1) == std::sin(2.0));
  CHECK(axial(0, 0, 0, 3) == std::sin(1.5));  // the second axis
  CHECK(axial(0, 0, 0, 5) == std::sin(0.5));  // the first one again
  CHECK(axial(0, 0, 0, 6) == 5.0);
  CHECK(linear(0, 0, 0, 1) == std::sin(1.0));   // 2/2
  CHECK(linear(0, 0, 0, 3) == std::sin(-0.5));  // (2 - 3) / 2
  CHECK(linear(0, 0, 0, 5) == std::sin(1.5));   // 6/4
}

TEST_CASE("comrope/rotate/of_one_axis_is_liere", "[property]") {
  const std::vector<double> of_x{1, -2, 0.5, 3}, of_p{0, 1, 2, 7, 0, -1, 0.5, 0.25, 0};
  const core::tensor x = make_tensor(dtype::f64, {1, 1, 1, 4}, of_x), position = make_tensor(dtype::f64, {1, 1}, {1.5});
  const auto y = reference::certify({reference::find_operation("comrope/rotate"),
                                     dtype::f64,
                                     {{"x", x},
                                      {"p", make_tensor(dtype::f64, {1, 1, 3, 3}, of_p)},
                                      {"theta", make_tensor(dtype::f64, {1, 1}, {9})},
                                      {"position", position}}})
                     .at("y")
                     .rounded.values;
  const auto z =
      reference::certify(
          {reference::find_operation("liere/rotate"),
           dtype::f64,
           {{"x", x}, {"generators", make_tensor(dtype::f64, {1, 1, 1, 3, 3}, of_p)}, {"position", position}},
           {{"form", std::string("difference")}}})
          .at("y")
          .rounded.values;
  CHECK(y == z);
}
