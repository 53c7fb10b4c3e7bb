// Runs of elementwise nodes: a branch that a lane does not take is not evaluated, and tiles change no number.
#include "reference/formula/elementwise.hpp"

#include <catch2/catch.hpp>

#include "reference/core/counter_random.hpp"
#include "reference/formula/evaluation_order.hpp"
#include "reference/formula/interpreter.hpp"
#include "reference/formula/tests/programs_under_test.hpp"
#include "reference/readings/all.hpp"

using namespace assay::reference;
using namespace assay::reference::formula;

namespace {

// Exponentials of x where x > 0 and of -x elsewhere, and their sums over rows.
program program_of_branches(const std::string& size) {
  return formula::program_of(R"({"op": "input", "name": "x", "kind": "real", "shape": [3, )" + size + R"(]},
    {"op": "number", "value": 0}, {"op": "less", "in": [1, 0]}, {"op": "negative", "in": [0]},
    {"op": "exp", "in": [0]}, {"op": "exp", "in": [3]}, {"op": "where", "in": [2, 4, 5]},
    {"op": "sum", "in": [6], "axes": [1]})");
}

std::vector<node_id> listed(std::span<const node_id> all) { return {all.begin(), all.end()}; }

}  // namespace

TEST_CASE("formula/elementwise/nodes_of_one_shape_are_a_run", "[unit]") {
  const program p = program_of_branches("5");
  const evaluation_order order(p);
  CHECK(listed(order.in_turn_of(6)) == std::vector<node_id>{2, 3, 4, 5, 6});
  CHECK(order.in_turn_of(4).empty());
  CHECK(listed(order.in_turn_of(7)) == std::vector<node_id>{7});
  CHECK(listed(order.forgotten_after(6)) == std::vector<node_id>{0, 1});
  CHECK(listed(order.forgotten_after(7)) == std::vector<node_id>{6});
}

TEST_CASE("formula/elementwise/a_node_that_two_runs_take_is_an_array", "[unit]") {
  const program p = program_of(R"({"op": "input", "name": "x", "kind": "real", "shape": [4]}, {"op": "exp", "in": [0]},
    {"op": "sin", "in": [1]}, {"op": "sum", "in": [2], "axes": [0]}, {"op": "cos", "in": [1]},
    {"op": "sum", "in": [4], "axes": [0]}, {"op": "add", "in": [3, 5]})");
  const evaluation_order order(p);
  CHECK(listed(order.in_turn_of(1)) == std::vector<node_id>{1});
  CHECK(listed(order.forgotten_after(4)) == std::vector<node_id>{1});
}

TEST_CASE("formula/elementwise/tiles_change_no_number", "[property]") {
  const assay::reference::computing_in format(assay::core::dtype::f32);
  for (const std::size_t size : {1, 42, 43, 128, 129, 400}) {
    const program p = program_of_branches(std::to_string(size));
    assay::core::counter_random random(size);
    reals<rounded> x;
    for (std::size_t i = 0; i < 3 * size; ++i)
      x.emplace_back(assay::core::round_to(assay::core::dtype::f32, random.normal()));
    const interpreter<rounded>::arrays in{{"x", x}};
    const auto made = interpreter<rounded>(p, in).run();
    const auto& sums = std::get<reals<rounded>>(made.begin()->second);
    for (std::size_t row = 0; row < 3; ++row) {
      accumulator<rounded> sum;
      for (std::size_t i = 0; i < size; ++i) {
        const rounded& number = x[row * size + i];
        sum.add(exp(number.number > 0.0 ? number : -number));
      }
      CHECK(sums[row].number == sum.total().number);
    }
  }
}

TEST_CASE("formula/elementwise/a_branch_that_is_not_taken_is_not_evaluated", "[unit]") {
  // 1 / 0 of integers is an error where its branch is taken; the real branch is not taken.
  const program p = program_of(R"({"op": "input", "name": "x", "kind": "real", "shape": [2]},
    {"op": "input", "name": "big", "kind": "integer", "shape": [2]},
    {"op": "number", "value": 0}, {"op": "less", "in": [2, 0]}, {"op": "to_real", "in": [1]},
    {"op": "where", "in": [3, 4, 0]})");
  const std::int64_t beyond = (std::int64_t{1} << 53) + 1;
  const auto evaluate_at = [&](std::int64_t first, std::int64_t second) {
    const interpreter<rounded>::arrays in{{"x", reals<rounded>{rounded(1.0), rounded(-1.0)}},
                                          {"big", integers{first, second}}};
    return interpreter<rounded>(p, in).run();
  };
  CHECK_NOTHROW(evaluate_at(7, beyond));
  CHECK_THROWS_WITH(evaluate_at(beyond, 7), Catch::Contains("node 4 (to_real)"));
}
