// Gradients of programs at points where they are conventions, and the form of gradient programs.
#include "reference/formula/tests/programs_under_test.hpp"

using namespace assay::reference;
using namespace assay::reference::formula;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity(),
                 no_number = std::numeric_limits<double>::quiet_NaN();
using doubles = std::vector<double>;

// Checks that the gradient in an input is proved to be these numbers.
void is_proved(const std::string& nodes, const numbers_by_name& x, const std::string& name, const doubles& wanted) {
  INFO(nodes);
  const auto got = evaluated<enclosure>(gradient_of(program_of(nodes)), x).at("grad_" + name);
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    INFO(name << " " << i << ": " << mpfr_get_d(got[i].low(), MPFR_RNDN) << ", "
              << mpfr_get_d(got[i].high(), MPFR_RNDN));
    CHECK(got[i].is_nan() == std::isnan(wanted[i]));
    if (std::isnan(wanted[i])) continue;
    CHECK(mpfr_get_d(got[i].low(), MPFR_RNDN) == wanted[i]);
    CHECK(mpfr_get_d(got[i].high(), MPFR_RNDN) == wanted[i]);
  }
}
void gradient_of_x_is_proved(const std::string& function, const doubles& x, const doubles& g, const doubles& wanted) {
  const std::string shape = "[" + std::to_string(x.size()) + "]";
  is_proved(real_input("x", shape) + "," + function, {{"x", x}, {"grad_y", g}}, "x", wanted);
}
const std::string pair = real_input("x", "[4]") + "," + real_input("z", "[4]");

}  // namespace

TEST_CASE("formula/differentiate/at_kinks", "[unit]") {
  gradient_of_x_is_proved(R"({"op": "magnitude", "in": [0]})", {-2, 0, 3, no_number}, {5, infinite, 7, 1},
                          {-5, 0, 7, no_number});
  const numbers_by_name ties{{"x", {1, 2, 3, no_number}}, {"z", {1, 3, 2, 1}}, {"grad_y", {3, 5, 7, 9}}};
  is_proved(pair + R"(, {"op": "maximum", "in": [0, 1]})", ties, "x", {1.5, 0, 7, 9});
  is_proved(pair + R"(, {"op": "maximum", "in": [0, 1]})", ties, "z", {1.5, 5, 0, 9});
  is_proved(pair + R"(, {"op": "minimum", "in": [0, 1]})", ties, "x", {1.5, 5, 0, 9});
  gradient_of_x_is_proved(R"({"op": "maximum", "in": [0, 0]})", {4, 0.1}, {3, 5}, {3, 5});
  gradient_of_x_is_proved(R"({"op": "largest", "in": [0], "axes": [0]})", {2, 1, 2, 2, 2}, {8}, {2, 0, 2, 2, 2});
  gradient_of_x_is_proved(R"({"op": "largest", "in": [0], "axes": [0]})", {2, 1, 4}, {infinite}, {0, 0, infinite});
  gradient_of_x_is_proved(R"({"op": "largest", "in": [0], "axes": [0]})", {2, no_number}, {8}, {no_number, no_number});
  // No two enclosures of a logarithm are proved to be equal; each element equals itself.
  gradient_of_x_is_proved(
      R"({"op": "log1p", "in": [0]}, {"op": "exp", "in": [1]}, {"op": "largest", "in": [2], "axes": [0]})", {1, 3, 2},
      {8}, {0, 8, 0});
  gradient_of_x_is_proved(R"({"op": "floor", "in": [0]})", {1.5, 2}, {3, 5}, {0, 0});
  gradient_of_x_is_proved(R"({"op": "detach", "in": [0]}, {"op": "multiply", "in": [0, 1]})", {3, 4}, {1, 2}, {3, 8});
}

TEST_CASE("formula/differentiate/of_powers_at_zero", "[unit]") {
  const numbers_by_name x{{"x", {0, 0, 0, 2}}, {"z", {0, 1, 2, 0}}, {"grad_y", {3, 3, 3, 1}}};
  is_proved(pair + R"(, {"op": "pow", "in": [0, 1]})", x, "x", {0, 3, 0, 0});
  is_proved(pair + R"(, {"op": "pow", "in": [0, 1]})", x, "z", {0, 0, 0, std::log(2.0)});
  gradient_of_x_is_proved(R"({"op": "power", "in": [0], "p": 1, "q": 2})", {0, 4, 0}, {1, 1, 0},
                          {infinite, 0.25, no_number});
  gradient_of_x_is_proved(R"({"op": "power", "in": [0], "p": 2, "q": 1})", {0, -3}, {1, 1}, {0, -6});
  gradient_of_x_is_proved(R"({"op": "power", "in": [0], "p": 0, "q": 1})", {0, -3}, {1, infinite}, {0, 0});
  gradient_of_x_is_proved(R"({"op": "log", "in": [0]})", {0, 4}, {1, 1}, {infinite, 0.25});
}

TEST_CASE("formula/differentiate/outside_of_domains", "[unit]") {
  gradient_of_x_is_proved(R"({"op": "log", "in": [0]})", {-2, -infinite}, {1, 1}, {-0.5, 0});
  gradient_of_x_is_proved(R"({"op": "log1p", "in": [0]})", {-2, -1.5}, {3, 3}, {-3, -6});
  gradient_of_x_is_proved(R"({"op": "power", "in": [0], "p": 1, "q": 2})", {-4}, {1}, {no_number});
  gradient_of_x_is_proved(R"({"op": "log_sum_exp", "in": [0], "axes": [0]})", {infinite, 1}, {3},
                          {no_number, no_number});
  gradient_of_x_is_proved(R"({"op": "log_add_exp", "in": [0, 0]})", {infinite}, {3}, {no_number});
}

TEST_CASE("formula/differentiate/branches_that_are_not_taken_give_nothing", "[unit]") {
  // where(0 < x, log x, 2 x), as people write it: the logarithm's slope at 0 is infinite.
  gradient_of_x_is_proved(R"({"op": "number", "value": 0}, {"op": "less", "in": [1, 0]}, {"op": "number", "value": 1},
               {"op": "where", "in": [2, 0, 3]}, {"op": "log", "in": [4]}, {"op": "add", "in": [0, 0]},
               {"op": "where", "in": [2, 5, 6]})",
                          {4, -1, 0, -infinite}, {1, 1, 1, 1}, {0.25, 2, 2, 2});
  // An infinite cotangent stays with its branch.
  gradient_of_x_is_proved(
      R"({"op": "number", "value": 0}, {"op": "less", "in": [1, 0]}, {"op": "where", "in": [2, 0, 1]})", {1, -1},
      {infinite, infinite}, {infinite, 0});
}

TEST_CASE("formula/differentiate/of_rows_that_are_hidden", "[unit]") {
  gradient_of_x_is_proved(R"({"op": "log_sum_exp", "in": [0], "axes": [0]})", {-infinite, -infinite}, {3}, {0, 0});
  gradient_of_x_is_proved(R"({"op": "log_sum_exp", "in": [0], "axes": [0]})", {-infinite, 2}, {3}, {0, 3});
  gradient_of_x_is_proved(
      R"({"op": "reshape", "in": [0], "shape": [2, 2]}, {"op": "log_sum_exp", "in": [1], "axes": [0, 1]})",
      {-infinite, -infinite, -infinite, -infinite}, {3}, {0, 0, 0, 0});
  gradient_of_x_is_proved(R"({"op": "log_add_exp", "in": [0, 0]})", {-infinite, 2}, {3, 4}, {0, 4});
  gradient_of_x_is_proved(R"({"op": "softmax", "in": [0], "axis": 0})", {-infinite, 2, -infinite}, {3, 4, 5},
                          {0, 0, 0});
  gradient_of_x_is_proved(R"({"op": "softmax", "in": [0], "axis": 0})", {-infinite, -infinite}, {3, 4},
                          {no_number, no_number});
}

TEST_CASE("formula/differentiate/slopes_keep_their_digits_far_from_zero", "[unit]") {
  const double slope = 4 * std::exp(-600.0);
  const auto slopes = [](const std::string& op) {
    return evaluated<enclosure>(
               gradient_of(program_of(real_input("x", "[2]") + R"(, {"op": ")" + op + R"(", "in": [0]})")),
               {{"x", {300, -300}}, {"grad_y", {1, 1}}})
        .at("grad_x");
  };
  for (const enclosure& x : slopes("tanh")) CHECK(to_double(x) == Approx(slope).epsilon(1e-12));
  for (const enclosure& x : slopes("sigmoid")) CHECK(to_double(x) == Approx(std::exp(-300.0)).epsilon(1e-12));
}

TEST_CASE("formula/differentiate/the_gradient_program", "[unit]") {
  // Names and order are right; an input that nothing reaches has a 0; nodes have their stage; no dead node is left.
  auto p = read_program(R"({"schema": "assay-program/1", "nodes": [)" + real_input("x", "[2]") + "," +
                        integer_input("i", "[2]") + "," + real_input("unused", "[3]") +
                        R"(, {"op": "exp", "in": [0], "stage": "inner"}, {"op": "less", "in": [0, 3]},
                           {"op": "sin", "in": [3]}], "outputs": [{"name": "b", "node": 4}, {"name": "s", "node": 5},
                           {"name": "e", "node": 3}]})");
  REQUIRE(p.has_value());
  const program g = gradient_of(*p);
  std::vector<std::string> inputs, outputs;
  for (const node_id k : g.inputs()) inputs.push_back(g.nodes()[k].text);
  for (const auto& o : g.outputs()) outputs.push_back(o.name);
  CHECK(inputs == std::vector<std::string>{"x", "i", "unused", "grad_s", "grad_e"});
  CHECK(outputs == std::vector<std::string>{"grad_x", "grad_unused"});
  std::vector<std::string> in_stage;
  for (const node& n : g.nodes()) {
    CHECK(n.what != op::less);
    CHECK(n.what != op::sin);
    if (n.stage == "inner") in_stage.emplace_back(row_of(n.what).name);
  }
  CHECK(in_stage == std::vector<std::string>{"exp", "add", "multiply"});
  const numbers_by_name values{
      {"x", {0, 0}}, {"i", {0, 0}}, {"unused", {1, 2, 3}}, {"grad_s", {0, 2}}, {"grad_e", {3, 4}}};
  const auto got = evaluated<enclosure>(g, values);
  CHECK(to_double(got.at("grad_x")[0]) == 3);
  CHECK(to_double(got.at("grad_x")[1]) == Approx(4 + 2 * std::cos(1.0)));
  for (const enclosure& zero : got.at("grad_unused")) CHECK(zero.is_zero());
  CHECK_FALSE(differentiate(program_of(integer_input("i", "[2]"))).has_value());
  CHECK_FALSE(differentiate(program_of(real_input("grad_y", "[2]") + R"(, {"op": "exp", "in": [0]})")).has_value());
}

TEST_CASE("formula/interpreter/sums_at_indices", "[unit]") {
  const program p = program_of(real_input("x", "[3]") + "," + integer_input("i", "[4]") + "," + real_input("v", "[4]") +
                               R"(, {"op": "scatter_add", "in": [0, 1, 2], "axis": 0})");
  numbers_by_name x{{"x", {1, 0, 5}}, {"i", {0, 1, 0, 0}}, {"v", {2, 0.1, 3, 4}}};
  const auto law = evaluated<tracked>(p, x).at("y");
  CHECK(law[0].number == 10);
  CHECK(law[0].error > 0);
  // Nothing is rounded where one number, or none, is added to 0.
  CHECK(law[1].number == 0.1);
  CHECK(law[1].error == 0);
  CHECK(law[2].number == 5);
  CHECK(law[2].error == 0);
  x["i"] = {0, 1, 0, 3};
  CHECK_THROWS_AS(evaluated<tracked>(p, x), evaluation_error);
  CHECK_FALSE(
      read_program(R"({"schema": "assay-program/1", "nodes": [)" + real_input("x", "[3]") + "," +
                   integer_input("i", "[4]") + "," + real_input("v", "[3]") +
                   R"(, {"op": "scatter_add", "in": [0, 1, 2], "axis": 0}], "outputs": [{"name": "y", "node": 3}]})")
          .has_value());
}
