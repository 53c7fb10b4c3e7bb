// Operators that formulas of the list use but texts do not: their gradients against dual numbers, and their refusals.
#include <limits>

#include "reference/formula/recording.hpp"
#include "reference/formula/tests/programs_under_test.hpp"
#include "reference/kinds/matrix_rotation.hpp"

using namespace assay::reference;
using namespace assay::reference::formula;

namespace {

// The gradient of a program that has no text.
program slopes_of(const program& p) {
  auto g = differentiate(p);
  INFO((g ? std::string() : g.error().message));
  REQUIRE(g.has_value());
  return *g;
}
// A program of the entries above the diagonal of two matrices [b, b]; `combined` makes the output from their
// exponentials.
program program_of_exponentials(std::size_t b, traced (*combined)(const traced& r)) {
  recording recorder({"exponent", "exponential", "product"});
  recorder.output("y", combined(rotations_by({}, recorder.input("e", {2, b * (b - 1) / 2}), b)));
  return recorder.finish();
}
traced as_it_is(const traced& r) { return r; }

}  // namespace

TEST_CASE("formula/no_text/is_refused_in_texts", "[unit]") {
  for (const char* name :
       {"entire_cosine_integral", "modulus", "modulus_slope", "skew_exponential", "skew_exponential_pullback"}) {
    INFO(name);
    CHECK(find_operator(name) == nullptr);
  }
}

TEST_CASE("formula/no_text/slope_of_the_cosine_integral", "[unit]") {
  const program p = [] {
    recording recorder;
    recorder.output("y", entire_cosine_integral(recorder.input("x", {7})));
    return recorder.finish();
  }();
  has_slopes_of_dual_numbers(slopes_of(p), p,
                             {{"x", {0, 1e-200, -1e-3, 1, -2, 50, 1e6}}, {"grad_y", {1, 1, 2, 3, 4, 5, 6}}});
  // sin(x / 2) squared would be 0.
  const auto tiny =
      evaluated<rounded>(slopes_of(p), {{"x", {0, 1e-200, 1, 1, 1, 1, 1}}, {"grad_y", {1, 1, 1, 1, 1, 1, 1}}});
  CHECK(tiny.at("grad_x")[1].number == Approx(0.5e-200).epsilon(1e-12));
}

TEST_CASE("formula/no_text/slopes_of_exponentials", "[unit]") {
  for (const std::size_t b : {1, 2, 3, 5}) {
    const program p = program_of_exponentials(b, as_it_is);
    const program g = slopes_of(p);
    has_slopes_of_dual_numbers(g, p, drawn_inputs(g, b));
  }
  // Without a rotation the result is the identity.
  const program p = program_of_exponentials(2, as_it_is);
  const auto made = evaluated<rounded>(p, {{"e", {0.0, std::numeric_limits<double>::quiet_NaN()}}}).at("y");
  CHECK((made[0].number == 1.0 && made[1].number == 0.0 && made[2].number == 0.0 && made[3].number == 1.0));
  CHECK(std::isnan(made[4].number));
}

// An allowance is that of the terms without their signs: cotangents that cancel are charged as if they did not.
TEST_CASE("formula/no_text/allowances_of_exponentials_do_not_cancel", "[unit]") {
  const auto errors_of = [](traced (*combined)(const traced& r)) {
    const program p = program_of_exponentials(3, combined), g = slopes_of(p), terms = *magnitudes_of_terms(g, p);
    const assay::reference::computing_in format(assay::core::dtype::f32);
    return evaluated<tracked>(terms, drawn_inputs(terms, 1)).at("grad_e");
  };
  const auto twice = errors_of([](const traced&r) { return r + r; }),
             less_itself = errors_of([](const traced&r) { return r - r; });
  for (std::size_t i = 0; i < twice.size(); ++i) {
    CHECK(less_itself[i].number == 0.0);
    CHECK(less_itself[i].error >= 0.8 * twice[i].error);
  }
}

TEST_CASE("formula/no_text/exponentials_of_other_shapes", "[unit]") {
  for (const assay::core::shape& s : {assay::core::shape{3}, assay::core::shape{2, 3}, assay::core::shape{}}) {
    recording recorder;
    const traced x = recorder.input("x", s);
    CHECK_THROWS_AS(skew_exponential(x), assay::core::contract_violation);
  }
}
