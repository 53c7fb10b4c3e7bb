// The terms of a gradient without their signs, and cotangents of branches that are not taken.
#include <catch2/catch.hpp>

#include "reference/formula/tests/programs_under_test.hpp"

using namespace assay::reference;
using namespace assay::reference::formula;

namespace {

program terms_of(const program& p) {
  auto terms = magnitudes_of_terms(gradient_of(p), p);
  REQUIRE(terms.has_value());
  return *terms;
}

}  // namespace

TEST_CASE("formula/terms_of_gradient/nothing_cancels", "[unit]") {
  // y = x z - x: dy/dx = z - 1
  const program p = program_of(real_input("x", "[3]") + "," + real_input("z", "[3]") + R"(,
    {"op": "multiply", "in": [0, 1]}, {"op": "subtract", "in": [2, 0]})");
  const numbers_by_name inputs{{"x", {2, -3, 5}}, {"z", {1, -4, 0.5}}, {"grad_y", {1, -2, 3}}};
  const auto numbers = [](const std::vector<rounded>& x) {
    return std::vector<double>{x[0].number, x[1].number, x[2].number};
  };
  const computing_in format(assay::core::dtype::f64);
  CHECK(numbers(evaluated<rounded>(gradient_of(p), inputs).at("grad_x")) == std::vector<double>{0, 10, -1.5});
  CHECK(numbers(evaluated<rounded>(terms_of(p), inputs).at("grad_x")) == std::vector<double>{2, 10, 4.5});
  CHECK(numbers(evaluated<rounded>(terms_of(p), inputs).at("grad_z")) == std::vector<double>{2, 6, 15});
}

TEST_CASE("formula/terms_of_gradient/softmax_keeps_the_difference_of_its_rule", "[unit]") {
  const program p = program_of(real_input("x", "[2]") + R"(, {"op": "softmax", "in": [0], "axis": 0})");
  const numbers_by_name inputs{{"x", {0, 0}}, {"grad_y", {3, 3}}};
  const computing_in format(assay::core::dtype::f64);
  for (const rounded& x : evaluated<rounded>(terms_of(p), inputs).at("grad_x")) CHECK(x.number < 1e-15);
}

TEST_CASE("formula/differentiate/a_branch_that_is_not_taken_has_the_slope_0", "[unit]") {
  // log x where x > 0, 0 elsewhere: 0 / 0 is no slope of this function.
  const program p = program_of(real_input("x", "[3]") + R"(, {"op": "number", "value": 0}, {"op": "less", "in": [1, 0]},
    {"op": "log", "in": [0]}, {"op": "where", "in": [2, 3, 1]})");
  const numbers_by_name inputs{{"x", {4, 0, -2}}, {"grad_y", {1, 1, 1}}};
  const auto slopes = evaluated<enclosure>(gradient_of(p), inputs).at("grad_x");
  CHECK(to_double(slopes[0]) == 0.25);
  CHECK(slopes[1].is_zero());
  CHECK(slopes[2].is_zero());
}
