// Rotations by commuting matrices small enough to check by hand, and the cases in which they equal other encodings.
#include <catch2/catch.hpp>
#include <cmath>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

namespace {

xt::xarray<double> rotated(const core::tensor& p, const char* variant) {
  // Three blocks of two, and one coordinate outside blocks; two axes, with positions 2 and 3.
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

std::vector<double> numbers_of(const core::request& call) {
  const auto y = reference::certify(call).at("y").rounded.values;
  return {y.begin(), y.end()};
}

}  // namespace

TEST_CASE("comrope/rotate/by_hand", "[property]") {
  // P_10 - P_01 is 1, 1/2 and 1/4.
  const core::tensor p = make_tensor(dtype::f64, {1, 3, 2, 2}, {3, 4, 5, 6, 0, 0, 0.5, 0, 0, -0.25, 0, 0});
  const auto axial = rotated(p, "ap"), linear = rotated(p, "ld");
  CHECK(axial(0, 0, 0, 0) == std::cos(2.0));  // the first axis
  CHECK(axial(0, 0, 0, 1) == std::sin(2.0));
  CHECK(axial(0, 0, 0, 3) == std::sin(1.5));  // the second axis
  CHECK(axial(0, 0, 0, 5) == std::sin(0.5));  // the first axis again
  CHECK(axial(0, 0, 0, 6) == 5.0);
  CHECK(linear(0, 0, 0, 1) == std::sin(1.0));   // 2/2
  CHECK(linear(0, 0, 0, 3) == std::sin(-0.5));  // (2 - 3) / 2
  CHECK(linear(0, 0, 0, 5) == std::sin(1.5));   // 6/4
}

TEST_CASE("comrope/rotate/of_two_is_rope", "[property]") {
  // On one axis: rope/rotate_by with theta = P_10 - P_01, interleaved.
  const std::vector<double> x{1, 2, 3, 4, 5, -1, 0.5, 2, 9, 8};
  const core::tensor p = make_tensor(dtype::f64, {1, 2, 2, 2}, {7, 1, 1.75, 7, 0, -0.5, 1, 0});
  const auto output = [&](const char* operation, core::tensors inputs, core::attributes settings) {
    inputs.emplace("x", make_tensor(dtype::f64, {1, 2, 1, 5}, x));
    return numbers_of({reference::find_operation(operation), dtype::f64, std::move(inputs), std::move(settings)});
  };
  const auto turned = output("comrope/rotate",
                             {{"p", p},
                              {"theta", make_tensor(dtype::f64, {1, 2}, {1, 1})},
                              {"position", make_tensor(dtype::f64, {2, 1}, {3, -0.5})}},
                             {});
  const core::tensors of_rope{{"theta", make_tensor(dtype::f64, {2}, {0.75, 1.5})},
                              {"position", make_tensor(dtype::f64, {1, 2}, {3, -0.5})}};
  CHECK(turned == output("rope/rotate_by", of_rope, {{"layout", std::string("interleaved")}}));
  CHECK(turned != output("rope/rotate_by", of_rope, {{"layout", std::string("half_split")}}));
}

TEST_CASE("comrope/rotate/linearly_dependent", "[property]") {
  // Only the sum of p_k theta_k matters, and factors may move between theta and P.
  core::request call{reference::find_operation("comrope/rotate"),
                     dtype::f64,
                     {{"x", make_tensor(dtype::f64, {1, 1, 1, 3}, {1, -2, 0.5})},
                      {"p", make_tensor(dtype::f64, {1, 1, 3, 3}, {0, 1, 2, 7, 0, -1, 0.5, 0.25, 0})},
                      {"theta", make_tensor(dtype::f64, {2, 1}, {1.5, -0.5})},
                      {"position", make_tensor(dtype::f64, {1, 2}, {2, 3})}},
                     {{"variant", std::string("ld")}}};
  const auto y = [&] { return numbers_of(call); };
  const auto once = y();
  call.inputs.at("position") = make_tensor(dtype::f64, {1, 2}, {2.5, 4.5});  // moved along (1, 3)
  CHECK(y() == once);
  call.inputs.at("theta") = make_tensor(dtype::f64, {2, 1}, {6, -2});
  CHECK(y() != once);
  for (double& entry : call.inputs.at("p").values.storage()) entry /= 4;
  CHECK(y() == once);
}

TEST_CASE("comrope/rotate/scores_depend_on_differences", "[property]") {
  // Two axes in one block, whose matrices commute: <R(p) x, R(q) y> = <x, R(q - p) y>.
  const auto rotated = [](double first, double second, const std::vector<double>& x) {
    return numbers_of({reference::find_operation("comrope/rotate"),
                       dtype::f64,
                       {{"x", make_tensor(dtype::f64, {1, 1, 1, 3}, x)},
                        {"p", make_tensor(dtype::f64, {1, 1, 3, 3}, {0, 1, 2, 7, 0, -1, 0.5, 0.25, 0})},
                        {"theta", make_tensor(dtype::f64, {2, 1}, {1.5, -0.5})},
                        {"position", make_tensor(dtype::f64, {1, 2}, {first, second})}},
                       {{"variant", std::string("ld")}}});
  };
  const auto score = [](const std::vector<double>& x, const std::vector<double>& y) {
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
  };
  const std::vector<double> x{1, -2, 0.5}, y{0.25, 1, 3};
  CHECK(score(rotated(2, 3, x), rotated(5, -1, y)) == Approx(score(x, rotated(3, -4, y))).margin(1e-14));
  CHECK(std::fabs(score(rotated(2, 3, x), rotated(5, -1, y)) - score(x, rotated(5, -1, y))) > 0.1);
}

TEST_CASE("comrope/rotate/of_one_axis_is_liere", "[property]") {
  const std::vector<double> x_values{1, -2, 0.5, 3}, p_values{0, 1, 2, 7, 0, -1, 0.5, 0.25, 0};
  const core::tensor x = make_tensor(dtype::f64, {1, 1, 1, 4}, x_values),
                     position = make_tensor(dtype::f64, {1, 1}, {1.5});
  const auto y = reference::certify({reference::find_operation("comrope/rotate"),
                                     dtype::f64,
                                     {{"x", x},
                                      {"p", make_tensor(dtype::f64, {1, 1, 3, 3}, p_values)},
                                      {"theta", make_tensor(dtype::f64, {1, 1}, {9})},
                                      {"position", position}}})
                     .at("y")
                     .rounded.values;
  const auto z =
      reference::certify(
          {reference::find_operation("liere/rotate"),
           dtype::f64,
           {{"x", x}, {"generators", make_tensor(dtype::f64, {1, 1, 1, 3, 3}, p_values)}, {"position", position}},
           {{"form", std::string("difference")}}})
          .at("y")
          .rounded.values;
  CHECK(y == z);
}
