// Programs: texts that the reader refuses, results of the interpreter in every reading, and derivatives.
#include <catch2/catch.hpp>

#include "reference/core/counter_random.hpp"
#include "reference/formula/interpreter.hpp"
#include "reference/formula/text.hpp"
#include "reference/readings/all.hpp"
#include "reference/readings/round_enclosure.hpp"

using namespace assay;
using namespace assay::reference;
using namespace assay::reference::formula;
using core::dtype;

namespace {

program read(const std::string& nodes, const std::string& outputs) {
  auto p = read_program(R"({"schema": "assay-program/1", "nodes": [)" + nodes + R"(], "outputs": [)" + outputs + "]}");
  INFO((p ? std::string() : p.error().message));
  REQUIRE(p.has_value());
  return *p;
}
std::string refused(const std::string& nodes) {
  const auto p = read_program(R"({"schema": "assay-program/1", "nodes": [)" + nodes +
                              R"(], "outputs": [{"name": "y", "node": 0}]})");
  REQUIRE_FALSE(p.has_value());
  return p.error().message;
}
const std::string vector_x = R"({"op": "input", "name": "x", "kind": "real", "shape": [3]})";
const std::string output_1 = R"({"name": "y", "node": 1})";

template <class R>
std::vector<R> real_outputs(const program& p, const std::map<std::string, std::vector<double>>& x) {
  typename interpreter<R>::arrays in;
  for (const auto& [name, values] : x) {
    reals<R> numbers;
    for (const double each : values) numbers.emplace_back(each);
    in.emplace(name, std::move(numbers));
  }
  const auto made = interpreter<R>(p, in).run();
  return std::get<reals<R>>(made.at(p.outputs().front().name));
}

std::vector<double> decided_values(const program& p, const std::map<std::string, std::vector<double>>& x) {
  std::vector<double> all;
  for (const enclosure& e : real_outputs<enclosure>(p, x)) {
    const rounding r = round_enclosure(dtype::f64, e);
    CHECK(r.decided);
    all.push_back(r.value);
  }
  return all;
}

// softmax(q k / sqrt(d) + mask) v, causal, as people write it; n = m = 3, d = 2.
program causal_attention() {
  return read(R"({"op": "input", "name": "q", "kind": "real", "shape": [3, 2]},
                 {"op": "input", "name": "k", "kind": "real", "shape": [3, 2]},
                 {"op": "input", "name": "v", "kind": "real", "shape": [3, 2]},
                 {"op": "contract", "in": [0, 1], "of": "nd,md->nm"},
                 {"op": "fraction", "numerator": 2, "denominator": 1},
                 {"op": "power", "in": [4], "p": 1, "q": 2},
                 {"op": "divide", "in": [3, 5]},
                 {"op": "iota", "size": 3},
                 {"op": "reshape", "in": [7], "shape": [3, 1]},
                 {"op": "less_equal", "in": [7, 8]},
                 {"op": "number", "value": "-inf"},
                 {"op": "where", "in": [9, 6, 10]},
                 {"op": "softmax", "in": [11], "axis": 1},
                 {"op": "contract", "in": [12, 2], "of": "nm,me->ne"})",
              R"({"name": "o", "node": 13})");
}

std::map<std::string, std::vector<double>> drawn(const program& p, std::uint64_t seed) {
  core::counter_random random(seed);
  std::map<std::string, std::vector<double>> all;
  for (const node_id k : p.inputs()) {
    std::vector<double>& x = all[p.nodes()[k].text];
    for (std::size_t i = 0; i < elements_of(p.type_of(k).shape); ++i) x.push_back(random.normal());
  }
  return all;
}

}  // namespace

TEST_CASE("formula/text/the_same_program_comes_back", "[unit]") {
  const program p = causal_attention();
  const std::string text = to_text(p);
  const auto again = read_program(text);
  REQUIRE(again.has_value());
  CHECK(to_text(*again) == text);
  CHECK(again->type_of(13) == array_type{number_kind::real, {3, 2}});
}

TEST_CASE("formula/text/what_is_refused", "[unit]") {
  CHECK(refused(R"({"op": "expp"})") == "node 0: there is no operator 'expp'");
  CHECK(refused(vector_x + R"(, {"op": "exp", "in": [1]})") == "node 1 (exp): takes node 1, which is not before it");
  CHECK(refused(vector_x + R"(, {"op": "add", "in": [0]})") == "node 1 (add): takes 2 inputs, and not 1");
  CHECK(refused(vector_x + "," + vector_x) == "node 1 (input): there is already an input 'x'");
  CHECK(refused(vector_x + R"(, {"op": "exp", "in": [0], "axis": 0})") == "node 1: exp has an unknown member");
  CHECK(refused(vector_x + R"(, {"op": "sum", "in": [0]})") == "node 1: sum needs the member axes");
  CHECK(refused(vector_x + R"(, {"op": "sum", "in": [0], "axes": [1]})") ==
        "node 1 (sum): axis 1 of an array with 1 axes");
  CHECK(refused(vector_x + R"(, {"op": "iota", "size": 2}, {"op": "add", "in": [0, 1]})") ==
        "node 2 (add): its inputs are real and integer");
  CHECK(refused(R"({"op": "iota", "size": 2}, {"op": "exp", "in": [0]})") == "node 1 (exp): takes no integer");
  CHECK(refused(R"({"op": "input", "name": "x", "kind": "real", "shape": [65536, 65536]})") ==
        "node 0 (input): more than 67108864 elements");
  CHECK(
      refused(
          R"({"op": "input", "name": "x", "kind": "real", "shape": [2, 3]}, {"op": "reshape", "in": [0], "shape": [5]})") ==
      "node 1 (reshape): the shapes before and after must have the same number of elements");
  CHECK(refused(vector_x + R"(, {"op": "contract", "in": [0, 0], "of": "a,b->a"})") ==
        "node 1 (contract): 'b' of one input alone is not in the result: sum it before");
  CHECK(refused(R"({"op": "power", "in": [0], "p": 2, "q": 4})").starts_with("node 0 (power): takes node 0"));
  CHECK(refused(R"({"op": "number", "value": "1"})") == R"(node 0: number: value cannot be "1")");
  CHECK_FALSE(read_program("[").has_value());
  CHECK_FALSE(read_program(std::string(1 << 20, '[')).has_value());
  CHECK_FALSE(read_program(R"({"schema": "assay-program/2", "nodes": [], "outputs": []})").has_value());
}

TEST_CASE("formula/interpreter/causal_attention_in_every_reading", "[unit]") {
  const program p = causal_attention();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto x = drawn(p, seed);
    const auto &q = x.at("q"), &k = x.at("k"), &v = x.at("v");
    const std::vector<double> truth = decided_values(p, x);
    for (std::size_t i = 0; i < 3; ++i) {
      std::vector<double> weights;
      double sum = 0;
      for (std::size_t j = 0; j <= i; ++j) {
        weights.push_back(std::exp((q[2 * i] * k[2 * j] + q[2 * i + 1] * k[2 * j + 1]) / std::sqrt(2.0)));
        sum += weights.back();
      }
      for (std::size_t c = 0; c < 2; ++c) {
        double o = 0;
        for (std::size_t j = 0; j <= i; ++j) o += weights[j] / sum * v[2 * j + c];
        CHECK(truth[2 * i + c] == Approx(o).epsilon(1e-12));
      }
    }
    // Plain arithmetic of f32 lies within the allowance, and balls agree with the intervals.
    const computing_in format(dtype::f32);
    const auto plain = real_outputs<rounded>(p, x);
    const auto law = real_outputs<tracked>(p, x);
    const auto balls = real_outputs<two_double_ball>(p, x);
    for (std::size_t i = 0; i < truth.size(); ++i) {
      CHECK(std::fabs(plain[i].number - truth[i]) <= law[i].allowance() * tracked::u());
      CHECK(std::fabs(balls[i].centre.high - truth[i]) <= balls[i].radius + 1e-15 * std::fabs(truth[i]));
    }
  }
}

TEST_CASE("formula/interpreter/dual_numbers", "[unit]") {
  const program p = causal_attention();
  const auto x = drawn(p, 7);
  const auto objective = [&](const std::map<std::string, std::vector<double>>& inputs) {
    double sum = 0;
    const auto y = decided_values(p, inputs);
    for (std::size_t i = 0; i < y.size(); ++i) sum += (1.0 + static_cast<double>(i)) * y[i];
    return sum;
  };
  interpreter<tangent>::arrays in;
  for (const auto& [name, values] : x) in.emplace(name, reals<tangent>(values.begin(), values.end()));
  for (auto& [name, values] : in)
    for (std::size_t i = 0; i < x.at(name).size(); ++i) {
      auto above = x, below = x;
      above[name][i] += 0x1p-17;
      below[name][i] -= 0x1p-17;
      const double slope = (objective(above) - objective(below)) / 0x1p-16;
      value& direction = std::get<reals<tangent>>(values)[i].derivative;
      direction = value(1.0);
      const auto made = interpreter<tangent>(p, in).run();
      direction = value(0.0);
      double along = 0;
      const auto& o = std::get<reals<tangent>>(made.at("o"));
      for (std::size_t k = 0; k < o.size(); ++k) along += (1.0 + static_cast<double>(k)) * o[k].derivative.to_double();
      INFO(name << " " << i);
      CHECK(along == Approx(slope).epsilon(1e-6).margin(1e-8));
    }
}

TEST_CASE("formula/interpreter/movement_and_reductions", "[unit]") {
  const std::map<std::string, std::vector<double>> x{{"x", {1, 2, 3, 4, 5, 6}}};
  const std::string input = R"({"op": "input", "name": "x", "kind": "real", "shape": [2, 3]},)";
  const auto result = [&](const std::string& nodes) {
    const std::string last = std::to_string(std::count(nodes.begin(), nodes.end(), '{'));
    return decided_values(read(input + nodes, R"({"name": "y", "node": )" + last + "}"), x);
  };
  using numbers = std::vector<double>;
  CHECK(result(R"({"op": "transpose", "in": [0], "axes": [1, 0]})") == numbers{1, 4, 2, 5, 3, 6});
  CHECK(result(R"({"op": "slice", "in": [0], "start": [0, 2], "stop": [2, -1], "step": [1, -2]})") ==
        numbers{3, 1, 6, 4});
  CHECK(result(R"({"op": "concatenate", "in": [0, 0], "axis": 1})") == numbers{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  CHECK(result(R"({"op": "broadcast", "in": [0], "shape": [2, 2, 3]})") == numbers{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6});
  CHECK(result(R"({"op": "iota", "size": 2}, {"op": "gather", "in": [0, 1], "axis": 1})") == numbers{1, 2, 4, 5});
  CHECK(result(R"({"op": "iota", "size": 2}, {"op": "reshape", "in": [1], "shape": [1, 2]},
              {"op": "broadcast", "in": [2], "shape": [2, 2]}, {"op": "take_along", "in": [0, 3], "axis": 1})") ==
        numbers{1, 2, 4, 5});
  CHECK(result(R"({"op": "number", "value": 9}, {"op": "broadcast", "in": [1], "shape": [2, 2]},
              {"op": "update", "in": [0, 2], "start": [0, 1]})") == numbers{1, 9, 9, 4, 9, 9});
  CHECK(result(R"({"op": "sum", "in": [0], "axes": [0]})") == numbers{5, 7, 9});
  CHECK(result(R"({"op": "mean", "in": [0], "axes": [0, 1]})") == numbers{3.5});
  CHECK(result(R"({"op": "largest", "in": [0], "axes": [1]})") == numbers{3, 6});
  CHECK(result(R"({"op": "cumulative_sum", "in": [0], "axis": 0})") == numbers{1, 2, 3, 5, 7, 9});
  CHECK(result(R"({"op": "contract", "in": [0, 0], "of": "ab,ab->b"})") == numbers{17, 29, 45});
  CHECK(result(R"({"op": "contract", "in": [0, 0], "of": "ab,cb->ac"})") == numbers{14, 32, 32, 77});
  CHECK(result(R"({"op": "log_sum_exp", "in": [0], "axes": [0, 1]})").front() == Approx(6.456193316018123));
}

TEST_CASE("formula/interpreter/integers_are_checked", "[unit]") {
  const auto evaluated = [](const std::string& what, std::int64_t x, std::int64_t y) {
    const program p = read(R"({"op": "integer", "value": )" + std::to_string(x) + R"(}, {"op": "integer", "value": )" +
                               std::to_string(y) + R"(}, {"op": ")" + what + R"(", "in": [0, 1]})",
                           R"({"name": "y", "node": 2})");
    const interpreter<rounded>::arrays none;
    return std::get<integers>(interpreter<rounded>(p, none).run().at("y")).front();
  };
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(), least = -most - 1;
  CHECK(evaluated("floor_divide", -7, 2) == -4);
  CHECK(evaluated("remainder", -7, 2) == 1);
  CHECK(evaluated("remainder", 7, -2) == -1);
  CHECK(evaluated("floor_divide", 7, -2) == -4);
  CHECK(evaluated("remainder", least, -1) == 0);
  CHECK_THROWS_AS(evaluated("floor_divide", least, -1), evaluation_error);
  CHECK_THROWS_AS(evaluated("floor_divide", 1, 0), evaluation_error);
  CHECK_THROWS_AS(evaluated("add", most, 1), evaluation_error);
  CHECK_THROWS_AS(evaluated("multiply", most, 2), evaluation_error);
  CHECK_THROWS_AS(evaluated("subtract", least, 1), evaluation_error);
}

TEST_CASE("formula/interpreter/special_values", "[unit]") {
  const auto result = [](const std::string& nodes, std::vector<double> x) {
    return decided_values(read(vector_x + "," + nodes, output_1), {{"x", std::move(x)}});
  };
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const auto exps = result(R"({"op": "exp", "in": [0]})", {-infinite, 0, infinite});
  CHECK(exps == std::vector<double>{0, 1, infinite});
  const auto logs = result(R"({"op": "log", "in": [0]})", {-1, 0, infinite});
  CHECK(std::isnan(logs[0]));
  CHECK(logs[1] == -infinite);
  for (const double x : result(R"({"op": "softmax", "in": [0], "axis": 0})", {-infinite, -infinite, -infinite}))
    CHECK(std::isnan(x));
  CHECK(result(R"({"op": "softmax", "in": [0], "axis": 0})", {-infinite, 0, -infinite}) ==
        std::vector<double>{0, 1, 0});
  CHECK(result(R"({"op": "log_sum_exp", "in": [0], "axes": [0]})", {-infinite, -infinite, -infinite}).front() ==
        -infinite);
  CHECK(result(R"({"op": "log_sum_exp", "in": [0], "axes": [0]})", {-infinite, infinite, 0}).front() == infinite);
  CHECK(result(R"({"op": "power", "in": [0], "p": 2, "q": 1})", {-3, 0, 2}) == std::vector<double>{9, 0, 4});
}
