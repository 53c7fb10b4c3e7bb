// The results of programs: proofs on the ladder of precisions, allowances, plain arithmetic, and refusals.
#include "reference/formula/evaluate.hpp"

#include <catch2/catch.hpp>

#include "reference/formula/text.hpp"

using namespace assay;
using namespace assay::reference;
using core::dtype;

namespace {

formula::program program_of(const std::string& nodes, const std::vector<std::pair<std::string, int>>& outputs) {
  std::string named;
  for (const auto& [name, node] : outputs)
    named += (named.empty() ? "" : ", ") + (R"({"name": ")" + name) + R"(", "node": )" + std::to_string(node) + "}";
  auto p = formula::read_program(R"({"schema": "assay-program/1", "nodes": [)" + nodes + R"(], "outputs": [)" + named +
                                 "]}");
  INFO((p ? std::string() : p.error().message));
  REQUIRE(p.has_value());
  return *p;
}
core::tensors vector_of(const std::vector<double>& x) { return {{"x", core::make_tensor(dtype::f64, {x.size()}, x)}}; }
std::string vector_input(std::size_t size) {
  return R"({"op": "input", "name": "x", "kind": "real", "shape": [)" + std::to_string(size) + "]}";
}
std::vector<double> numbers_in(const core::tensor& t) { return {t.values.begin(), t.values.end()}; }

}  // namespace

TEST_CASE("formula/evaluate/outputs_have_the_types_of_their_kinds", "[unit]") {
  const auto p = program_of(vector_input(3) + R"(, {"op": "exp", "in": [0]}, {"op": "number", "value": 1},
                            {"op": "less", "in": [0, 2]}, {"op": "to_integer", "in": [3]})",
                            {{"e", 1}, {"b", 3}, {"i", 4}});
  const auto truth = formula::certify(p, vector_of({0.0, 1.0, -2.0}), dtype::f32);
  REQUIRE(truth.has_value());
  CHECK(count_undecided(*truth) == 0);
  CHECK(truth->at("e").rounded.type == dtype::f32);
  CHECK(numbers_in(truth->at("e").rounded) == std::vector<double>{1.0, 0x1.5bf0a8p+1, 0x1.152aaap-3});
  CHECK(truth->at("b").rounded.type == dtype::boolean);
  CHECK(numbers_in(truth->at("b").rounded) == std::vector<double>{1, 0, 1});
  CHECK(truth->at("i").rounded.type == dtype::i64);
  CHECK(numbers_in(truth->at("i").rounded) == std::vector<double>{1, 0, 1});
  for (const auto& [name, c] : *truth)
    for (const auto rung : c.rung) CHECK(rung == first_ball_rung);
}

TEST_CASE("formula/evaluate/open_elements_climb_and_others_stay", "[unit]") {
  const auto p = program_of(vector_input(2) + R"(, {"op": "fraction", "numerator": 1, "denominator": 3},
                            {"op": "add", "in": [1, 0]}, {"op": "subtract", "in": [2, 1]})",
                            {{"y", 3}});
  const auto truth = formula::certify(p, vector_of({0.5, 1e-300}), dtype::f64);
  REQUIRE(truth.has_value());
  CHECK(numbers_in(truth->at("y").rounded) == std::vector<double>{0.5, 1e-300});
  CHECK(truth->at("y").rung == std::vector<std::uint8_t>{first_ball_rung + 1, all_rungs - 1});
  const auto first = formula::certify(p, vector_of({0.5, 1e-300}), dtype::f64, 1);
  REQUIRE(first.has_value());
  CHECK(first->at("y").rung[1] == undecided);
}

TEST_CASE("formula/evaluate/what_no_rung_can_tell_is_undecided", "[unit]") {
  // sin^2 + cos^2 < 1
  const std::string less_than_one = vector_input(1) + R"(, {"op": "sin", "in": [0]}, {"op": "cos", "in": [0]},
      {"op": "multiply", "in": [1, 1]}, {"op": "multiply", "in": [2, 2]}, {"op": "add", "in": [3, 4]},
      {"op": "number", "value": 1}, {"op": "less", "in": [5, 6]})";
  const auto comparison = program_of(less_than_one, {{"b", 7}, {"y", 0}});
  const auto truth = formula::certify(comparison, vector_of({0.7}), dtype::f32);
  REQUIRE(truth.has_value());
  CHECK(truth->at("b").rung[0] == undecided);
  CHECK(truth->at("y").rung[0] == first_ball_rung);
  CHECK(std::isnan(formula::allow(comparison, vector_of({0.7}), dtype::f32)->at("b").flat(0)));
  const auto integer = program_of(less_than_one + R"(, {"op": "to_integer", "in": [7]})", {{"i", 8}, {"y", 0}});
  const auto certified_integer = formula::certify(integer, vector_of({0.7}), dtype::f32);
  REQUIRE(certified_integer.has_value());
  CHECK(count_undecided(*certified_integer) == 2);
  CHECK(std::isnan(formula::allow(integer, vector_of({0.7}), dtype::f32)->at("i").flat(0)));
}

TEST_CASE("formula/evaluate/rows_beyond_the_doubles", "[unit]") {
  // x = 1e300 z: for [x, x, 0] the weights are 1/2, 1/2 and 0, and log sum exp is x + log 2.
  const auto p = program_of(vector_input(3) + R"(, {"op": "number", "value": 1e300}, {"op": "multiply", "in": [0, 1]},
                            {"op": "softmax", "in": [2], "axis": 0}, {"op": "log_sum_exp", "in": [2], "axes": [0]},
                            {"op": "largest", "in": [2], "axes": [0]}, {"op": "subtract", "in": [4, 5]})",
                            {{"weights", 3}, {"rest", 6}});
  for (const double z : {1e300, -1e300}) {
    const auto truth = formula::certify(p, vector_of({z, z, -1e308}), dtype::f64);
    REQUIRE(truth.has_value());
    CHECK(count_undecided(*truth) == 0);
    CHECK(numbers_in(truth->at("weights").rounded) == std::vector<double>{0.5, 0.5, 0.0});
    CHECK(numbers_in(truth->at("rest").rounded) == std::vector<double>{0x1.62e42fefa39efp-1});
  }
  constexpr double infinite = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& z : {std::vector<double>{infinite, 0, -infinite},
                                       std::vector<double>{std::numeric_limits<double>::quiet_NaN(), 0, -infinite}}) {
    const auto truth = formula::certify(p, vector_of(z), dtype::f64);
    REQUIRE(truth.has_value());
    CHECK(count_undecided(*truth) == 0);
    for (const double x : numbers_in(truth->at("weights").rounded)) CHECK(std::isnan(x));
  }
}

TEST_CASE("formula/evaluate/errors_name_the_node_and_what_no_output_needs_has_none", "[unit]") {
  const std::string divided = R"({"op": "input", "name": "i", "kind": "integer", "shape": []},
      {"op": "integer", "value": 7}, {"op": "floor_divide", "in": [1, 0]}, {"op": "negative", "in": [2]},
      {"op": "negative", "in": [0]})";
  const core::tensors zero{{"i", core::make_tensor(dtype::i64, {}, {0})}};
  const auto p = program_of(divided, {{"y", 3}});
  CHECK(formula::certify(p, zero, dtype::f32).error().message == "node 2 (floor_divide): floor_divide 7 by 0");
  CHECK(formula::allow(p, zero, dtype::f32).error().message == "node 2 (floor_divide): floor_divide 7 by 0");
  CHECK(formula::evaluate_in(p, zero, dtype::f32, dtype::f32).error().message ==
        "node 2 (floor_divide): floor_divide 7 by 0");
  const auto truth = formula::certify(program_of(divided, {{"y", 4}}), zero, dtype::f32);
  REQUIRE(truth.has_value());
  CHECK(numbers_in(truth->at("y").rounded) == std::vector<double>{0});
  CHECK(formula::certify(p, {}, dtype::f32).error().message == "the input 'i' is missing");
  CHECK(formula::certify(p, {{"i", core::make_tensor(dtype::i64, {1}, {1})}}, dtype::f32).error().message ==
        "'i' has the shape [1], not []");
  CHECK(formula::certify(p, {{"i", core::make_tensor(dtype::f64, {}, {0.5})}}, dtype::f32).error().message ==
        "'i' has an element that is no integer");
  core::tensors two = zero;
  two.emplace("j", zero.at("i"));
  CHECK(formula::certify(p, two, dtype::f32).error().message == "there is no input 'j'");
}

TEST_CASE("formula/evaluate/arithmetic_in_stages_lies_within_its_allowance", "[unit]") {
  const auto p = program_of(vector_input(4) + R"(, {"op": "exp", "in": [0], "stage": "powers"},
                            {"op": "sum", "in": [1], "axes": [0]}, {"op": "divide", "in": [1, 2]})",
                            {{"y", 3}, {"e", 1}});
  const core::precisions formats({{"powers", ""}, {"rest", ""}}, {dtype::bf16, dtype::f32});
  const core::tensors x = vector_of({0.25, -1.0, 0.5, 1.5});
  const std::vector<std::string> stages{"powers", "rest"};
  const auto truth = formula::certify(p, x, dtype::f32);
  const auto k = formula::allow(p, x, formats, stages);
  const auto plain = formula::evaluate_in(p, x, dtype::f32, formats, stages);
  REQUIRE((truth.has_value() && k.has_value() && plain.has_value()));
  bool is_rounded = false;
  for (const auto& [name, c] : *truth)
    for (std::size_t i = 0; i < 4; ++i) {
      const double error = std::fabs(c.error_of(plain->at(name).values.flat(i), i));
      CHECK(error <= k->at(name).flat(i) * core::unit_roundoff(dtype::bf16));
      is_rounded = is_rounded || error > 0x1p-12;
    }
  CHECK(is_rounded);  // the stage has the given format
  for (const double e : numbers_in(plain->at("e"))) CHECK(core::round_to(dtype::bf16, e) == e);
}
