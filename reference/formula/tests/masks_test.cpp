// Cotangents after many masks: each passes one mask, and a long chain of branches has a short gradient.
#include <catch2/catch.hpp>

#include "reference/formula/tests/programs_under_test.hpp"

using namespace assay::reference;
using namespace assay::reference::formula;

namespace {

// x = where(0 < sin x, sin x, 0), repeated `count` times.
program program_of_layers(std::size_t count) {
  std::string nodes = real_input("x", "[3]") + R"(, {"op": "number", "value": 0})";
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t last = k == 0 ? 0 : 3 * k + 1, first = 3 * k + 2;
    nodes += R"(, {"op": "sin", "in": [)" + std::to_string(last) + R"(]}, {"op": "less", "in": [1, )" +
             std::to_string(first) + R"(]}, {"op": "where", "in": [)" + std::to_string(first + 1) + ", " +
             std::to_string(first) + ", 1]}";
  }
  return formula::program_of(nodes);
}

}  // namespace

TEST_CASE("formula/differentiate/masks_of_a_chain_are_one", "[unit]") {
  const program p = program_of_layers(600);
  const auto g = differentiate(p);
  REQUIRE(g.has_value());
  CHECK(g->nodes().size() < 5 * p.nodes().size());
  const numbers_by_name inputs{{"x", {0.5, -0.5, 1.0}}, {"grad_y", {1, 1, 1}}};
  const program short_one = program_of_layers(4);
  const auto slopes = evaluated<enclosure>(gradient_of(short_one), inputs).at("grad_x");
  const auto slope = [](double x) {
    double product = 1;
    for (int k = 0; k < 4; ++k) {
      product *= std::cos(x);
      x = std::sin(x);
    }
    return product;
  };
  CHECK(to_double(slopes[0]) == Approx(slope(0.5)));
  CHECK(slopes[1].is_zero());
  CHECK(to_double(slopes[2]) == Approx(slope(1.0)));
}
