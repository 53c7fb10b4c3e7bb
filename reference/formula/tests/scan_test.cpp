// Loops as one node: values, gradients and allowances are compared with the same turns written out; wrong loops are
// refused.
#include "reference/formula/evaluate.hpp"
#include "reference/formula/program_writer.hpp"
#include "reference/formula/tests/programs_under_test.hpp"
#include "reference/formula/work.hpp"

using namespace assay;
using namespace assay::reference;
using namespace assay::reference::formula;

namespace {

std::string loop(const std::string& in, int turns, int carried, int stepped, const std::string& nodes,
                 const std::string& outputs) {
  return R"({"op": "scan", "in": )" + in + R"(, "turns": )" + std::to_string(turns) + R"(, "carried": )" +
         std::to_string(carried) + R"(, "stepped": )" + std::to_string(stepped) + R"(, "body": {"nodes": [)" + nodes +
         R"(], "outputs": [)" + outputs + "]}}";
}
std::string output(const std::string& name, int node) {
  return R"({"name": ")" + name + R"(", "node": )" + std::to_string(node) + "}";
}
std::string why_not(const std::string& nodes) {
  const auto p = read_program(R"({"schema": "assay-program/1", "nodes": [)" + nodes +
                              R"(], "outputs": [{"name": "y", "node": 0}]})");
  return p ? "" : p.error().message;
}

constexpr int turns = 4;
// s = exp(-|a_t|) s + w tanh(b_t - s), for two lanes; each turn gives s^2 w.
const std::string inputs = real_input("s", "[2]") + "," + real_input("a", "[4, 2]") + "," + real_input("b", "[4, 2]") +
                           "," + real_input("w", "[]");
const std::string body = R"({"op": "magnitude", "in": [1]}, {"op": "negative", "in": [4]}, {"op": "exp", "in": [5]},
    {"op": "multiply", "in": [6, 0]}, {"op": "subtract", "in": [2, 0]}, {"op": "tanh", "in": [8]},
    {"op": "multiply", "in": [3, 9]}, {"op": "add", "in": [7, 10]}, {"op": "multiply", "in": [11, 11]},
    {"op": "multiply", "in": [12, 3]})";
const std::string body_inputs =
    real_input("s", "[2]") + "," + real_input("a", "[2]") + "," + real_input("b", "[2]") + "," + real_input("w", "[]");

program rolled_up() {
  const std::string nodes =
      inputs + "," +
      loop("[0, 1, 2, 3]", turns, 1, 2, body_inputs + "," + body, output("next", 11) + "," + output("given", 13)) +
      R"(, {"op": "slice", "in": [4], "start": [0], "stop": [2], "step": [1]},
         {"op": "slice", "in": [4], "start": [2], "stop": [10], "step": [1]},
         {"op": "reshape", "in": [6], "shape": [4, 2]})";
  return program_from(nodes, output("last", 5) + "," + output("y", 7));
}
program written_out() {
  program p = program_from(inputs, output("s", 0));
  program made;
  program_writer to(made);
  for (const node& n : p.nodes()) to.append(n);
  node_id s = 0;
  std::vector<node_id> given;
  for (std::int64_t t = 0; t < turns; ++t) {
    const auto row_at_turn = [&](node_id x) { return to.reshape(to.slice(x, {t, 0}, {t + 1, 2}, {1, 1}), {2}); };
    const node_id kept =
        to.product(to.operation(op::exp, {to.negative(to.operation(op::magnitude, {row_at_turn(1)}))}), s);
    s = to.operation(op::add,
                     {kept, to.product(3, to.operation(op::tanh, {to.operation(op::subtract, {row_at_turn(2), s})}))});
    given.push_back(to.reshape(to.product(to.product(s, s), 3), {1, 2}));
  }
  REQUIRE(made.name_output("last", s));
  REQUIRE(made.name_output("y", to.operation(op::concatenate, given, {0})));
  return made;
}

void is_the_same(const std::map<std::string, std::vector<enclosure>>& one,
                 const std::map<std::string, std::vector<enclosure>>& other) {
  REQUIRE(one.size() == other.size());
  for (const auto& [name, values] : other)
    for (std::size_t i = 0; i < values.size(); ++i) {
      INFO(name << " " << i);
      CHECK(mpfr_lessequal_p(one.at(name)[i].low(), values[i].high()) != 0);
      CHECK(mpfr_lessequal_p(values[i].low(), one.at(name)[i].high()) != 0);
      CHECK(std::fabs(to_double(one.at(name)[i]) - to_double(values[i])) <= 1e-15 * std::fabs(to_double(values[i])));
    }
}

core::tensors tensors_from(const program& p, const numbers_by_name& x) {
  core::tensors all;
  for (const node_id k : p.inputs()) {
    const std::string& name = p.nodes()[k].text;
    xt::xarray<double> values = xt::xarray<double>::from_shape(p.type_of(k).shape);
    std::ranges::copy(x.at(name), values.storage().begin());
    all.emplace(name, core::tensor{core::dtype::f64, values});
  }
  return all;
}

// Checks that both programs have the same allowances for the outputs of `other`.
void allow_the_same(const program& one, const program& other, double slack) {
  const core::precisions f32(core::dtype::f32);
  const numbers_by_name x = drawn_inputs(one, 5);
  const auto own = allow(one, tensors_from(one, x), f32), wanted = allow(other, tensors_from(other, x), f32);
  REQUIRE(own.has_value());
  REQUIRE(wanted.has_value());
  for (const auto& [name, k] : *wanted)
    for (std::size_t i = 0; i < k.size(); ++i) {
      INFO(name << " " << i << ": " << own->at(name).storage()[i] << " and " << k.storage()[i]);
      CHECK(std::fabs(own->at(name).storage()[i] - k.storage()[i]) <= slack * k.storage()[i]);
    }
}

}  // namespace

TEST_CASE("formula/scan/is_its_turns", "[unit]") {
  const program p = rolled_up(), turn_by_turn = written_out();
  const numbers_by_name x = drawn_inputs(p, 3);
  is_the_same(evaluated<enclosure>(p, x), evaluated<enclosure>(turn_by_turn, x));
  allow_the_same(p, turn_by_turn, 1e-12);
  CHECK(to_text(read_program(to_text(p)).value()) == to_text(p));
  const program g = gradient_of(p), other = gradient_of(turn_by_turn);
  const numbers_by_name with_cotangents = drawn_inputs(g, 4);
  is_the_same(evaluated<enclosure>(g, with_cotangents), evaluated<enclosure>(other, with_cotangents));
  has_slopes_of_dual_numbers(g, p, with_cotangents);
}

TEST_CASE("formula/scan/allowances_of_gradients_are_those_of_the_turns", "[unit]") {
  const program p = rolled_up(), turn_by_turn = written_out();
  allow_the_same(*magnitudes_of_terms(gradient_of(p), p), *magnitudes_of_terms(gradient_of(turn_by_turn), turn_by_turn),
                 0.05);
}

TEST_CASE("formula/scan/terms_have_no_signs", "[unit]") {
  const program p = rolled_up(), turn_by_turn = written_out();
  const program terms = *magnitudes_of_terms(gradient_of(p), p),
                terms_of_turns = *magnitudes_of_terms(gradient_of(turn_by_turn), turn_by_turn);
  numbers_by_name x = drawn_inputs(terms, 6);
  x["grad_y"][3] *= -1.0;
  x["grad_last"][0] *= -1.0;
  is_the_same(evaluated<enclosure>(terms, x), evaluated<enclosure>(terms_of_turns, x));
}

// The rule of softmax subtracts a mean of cotangents: in a body this needs the signs.
TEST_CASE("formula/scan/softmax_in_a_body", "[unit]") {
  const std::string nodes = real_input("s", "[3]") + "," + real_input("x", "[5, 3]") + "," +
                            loop("[0, 1]", 5, 1, 1,
                                 real_input("s", "[3]") + "," + real_input("x", "[3]") +
                                     R"(, {"op": "add", "in": [0, 1]}, {"op": "softmax", "in": [2], "axis": 0})",
                                 output("next", 3));
  const program p = program_from(nodes, output("y", 2));
  const program g = gradient_of(p);
  const numbers_by_name x = drawn_inputs(g, 2);
  has_slopes_of_dual_numbers(g, p, x);
  const auto own = allow(*magnitudes_of_terms(g, p), tensors_from(g, x), core::precisions(core::dtype::f32));
  REQUIRE(own.has_value());
  for (const auto& [name, k] : *own)
    for (const double each : k) CHECK(std::isfinite(each));
}

TEST_CASE("formula/scan/loops_in_loops", "[unit]") {
  const std::string inner = loop("[0, 2, 1]", 3, 1, 1,
                                 real_input("s", "[]") + "," + real_input("x", "[]") + "," + real_input("w", "[]") +
                                     R"(, {"op": "multiply", "in": [0, 2]}, {"op": "add", "in": [3, 1]})",
                                 output("next", 4) + "," + output("given", 3));
  const std::string nodes =
      real_input("s", "[]") + "," + real_input("w", "[]") + "," + real_input("x", "[2, 3]") + "," +
      loop("[0, 2, 1]", 2, 1, 1,
           real_input("s", "[]") + "," + real_input("w", "[]") + "," + real_input("x", "[3]") + "," + inner +
               R"(, {"op": "slice", "in": [3], "start": [0], "stop": [1], "step": [1]},
                  {"op": "reshape", "in": [4], "shape": []},
                  {"op": "slice", "in": [3], "start": [1], "stop": [4], "step": [1]})",
           output("next", 5) + "," + output("given", 6));
  // The inputs of a body are in the order of its node.
  CHECK(why_not(nodes).find("has not the type of 'w' of its body") != std::string::npos);
  std::string right = nodes;
  const std::string wrong_order = real_input("w", "[]") + "," + real_input("x", "[3]");
  right.replace(right.find(wrong_order), wrong_order.size(), real_input("x", "[3]") + "," + real_input("w", "[]"));
  const std::string taken = R"("in": [0, 2, 1], "turns": 3)";
  right.replace(right.find(taken), taken.size(), R"("in": [0, 1, 2], "turns": 3)");
  const program p = program_from(right, output("y", 3));
  const program g = gradient_of(p);
  const numbers_by_name x = drawn_inputs(g, 2);
  has_slopes_of_dual_numbers(g, p, x);
  const double s = x.at("s")[0], w = x.at("w")[0];
  double last = s;
  for (const double each : x.at("x")) last = last * w + each;
  CHECK(to_double(evaluated<enclosure>(p, x).at("y")[0]) == Approx(last).epsilon(1e-14));
}

TEST_CASE("formula/scan/bad_loops_are_refused", "[unit]") {
  const std::string x = real_input("x", "[4]"), one = real_input("x", "[]");
  const auto refused = [&](const std::string& node, const std::string& why) {
    INFO(node);
    CHECK(why_not(x + "," + node).find(why) != std::string::npos);
  };
  CHECK(why_not(x + "," + loop("[0]", 4, 0, 1, one, output("y", 0))).empty());
  refused(loop("[0]", 3, 0, 1, one, output("y", 0)), "has no axis of its 3 turns");
  refused(loop("[0]", 4, 0, 0, one, output("y", 0)), "not the type of 'x' of its body");
  refused(loop("[0]", 4, 1, 1, one, output("y", 0)), "at least 1 turn");
  refused(loop("[0]", 0, 0, 1, one, output("y", 0)), "at least 1 turn");
  refused(loop("[0, 0]", 4, 0, 1, one, output("y", 0)), "takes 1 arrays, and it has 2");
  refused(loop("[0]", 4, 0, 1, one + R"(, {"op": "is_nan", "in": [0]})", output("y", 1)), "is no real");
  refused(loop("[0]", 4, 1, 0, x + R"(, {"op": "sum", "in": [0], "axes": [0]})", output("y", 1)),
          "is not what it carries");
  refused(loop("[0]", 4, 0, 1, one, ""), "a program must have an output");
  refused(loop("[0]", 4, 0, 1, one + R"(, {"op": "exp", "in": [7]})", output("y", 1)), "its body: node 1");
  refused(loop("[0]", 1 << 30, 0, 0, x, output("y", 0)), "more than");
  std::string deep = loop("[0]", 2, 0, 0, x, output("y", 0));
  for (int k = 0; k < 3; ++k) {
    const std::string sums = R"(, {"op": "sum", "in": [1], "axes": [0]}, {"op": "broadcast", "in": [2], "shape": [4]})";
    deep = loop("[0]", 2, 1, 0, x + "," + deep + sums, output("y", 3));
    CHECK(why_not(x + "," + deep).empty());
  }
  refused(loop("[0]", 2, 0, 0, x + "," + deep, output("y", 1)), "nested at most 4 deep");
}

// Many turns with little work add up to much work.
TEST_CASE("formula/scan/turns_are_counted_as_work", "[unit]") {
  const program p = program_from(
      R"({"op": "number", "value": 1}, )" + loop("[0]", 1 << 30, 1, 0, real_input("s", "[]"), output("next", 0)),
      output("y", 1));
  CHECK(work_of(p) >= (std::uint64_t{1} << 30));
  CHECK_FALSE(check_work(p, std::uint64_t{1} << 29));
}
