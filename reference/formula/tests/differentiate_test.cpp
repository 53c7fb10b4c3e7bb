// Gradients of programs as programs: every rule is compared with dual numbers and with differences.
#include "reference/formula/recording.hpp"
#include "reference/formula/tests/programs_under_test.hpp"

using namespace assay::reference;
using namespace assay::reference::formula;

namespace {

void agree_with_dual_numbers(const program& p) {
  const program g = gradient_of(p);
  for (std::uint64_t seed = 1; seed < 4; ++seed) has_slopes_of_dual_numbers(g, p, drawn_inputs(g, seed));
}

void agree_with_dual_numbers(const std::string& nodes) {
  INFO(nodes);
  agree_with_dual_numbers(program_of(nodes));
}

const std::string x_23 = real_input("x", "[2, 3]");
std::string behind(const std::string& inputs, const std::string& nodes) { return inputs + ", " + nodes; }

// softmax(q k / sqrt 2 + mask) v, causal.
const std::string attention =
    real_input("q", "[3, 2]") + "," + real_input("k", "[3, 2]") + "," + real_input("v", "[3, 2]") + R"(,
    {"op": "contract", "in": [0, 1], "of": "nd,md->nm"}, {"op": "fraction", "numerator": 2, "denominator": 1},
    {"op": "power", "in": [4], "p": 1, "q": 2}, {"op": "divide", "in": [3, 5]}, {"op": "iota", "size": 3},
    {"op": "reshape", "in": [7], "shape": [3, 1]}, {"op": "less_equal", "in": [7, 8]},
    {"op": "number", "value": "-inf"}, {"op": "where", "in": [9, 6, 10]}, {"op": "softmax", "in": [11], "axis": 1},
    {"op": "contract", "in": [12, 2], "of": "nm,me->ne"})";

}  // namespace

TEST_CASE("formula/differentiate/elementwise_operators", "[unit]") {
  for (const char* what : {"negative", "magnitude", "exp", "log", "log1p", "sin", "cos", "tanh", "erf", "sigmoid",
                           "softplus", "log_sigmoid"})
    agree_with_dual_numbers(behind(x_23, R"({"op": ")" + std::string(what) + R"(", "in": [0]})"));
  for (const char* power : {R"("p": 1, "q": 2)", R"("p": -3, "q": 2)", R"("p": 2, "q": 1)", R"("p": 1, "q": 1)",
                            R"("p": -1, "q": 1)", R"("p": 0, "q": 1)", R"("p": 5, "q": 3)"})
    agree_with_dual_numbers(behind(x_23, R"({"op": "power", "in": [0], )" + std::string(power) + "}"));
  for (const char* shape : {"[2, 3]", "[3]", "[2, 1]", "[]", "[4, 2, 3]"})
    for (const char* what : {"add", "subtract", "multiply", "divide", "maximum", "minimum", "pow", "log_add_exp"})
      agree_with_dual_numbers(
          behind(x_23 + "," + real_input("z", shape), R"({"op": ")" + std::string(what) + R"(", "in": [0, 1]})"));
  agree_with_dual_numbers(behind(x_23 + "," + real_input("z", "[3]"),
                                 R"({"op": "number", "value": 1}, {"op": "less", "in": [0, 2]},
                                           {"op": "where", "in": [3, 0, 1]})"));
}

TEST_CASE("formula/differentiate/operators_that_move", "[unit]") {
  for (
      const char* nodes :
      {R"({"op": "reshape", "in": [0], "shape": [3, 2]})", R"({"op": "transpose", "in": [0], "axes": [1, 0]})",
       R"({"op": "broadcast", "in": [0], "shape": [4, 2, 3]})",
       R"({"op": "slice", "in": [0], "start": [0, 2], "stop": [2, -1], "step": [1, -2]})",
       R"({"op": "slice", "in": [0], "start": [1, 1], "stop": [2, 3], "step": [1, 1]})",
       R"({"op": "slice", "in": [0], "start": [1, 0], "stop": [-1, 3], "step": [-1, 2]})",
       R"({"op": "slice", "in": [0], "start": [1, 0], "stop": [1, 3], "step": [1, 1]})",
       R"({"op": "concatenate", "in": [0, 0, 0], "axis": 1})",
       R"({"op": "number", "value": 2}, {"op": "multiply", "in": [0, 1]}, {"op": "concatenate", "in": [2, 0], "axis": 0})"})
    agree_with_dual_numbers(behind(x_23, nodes));
  agree_with_dual_numbers(behind(real_input("x", "[3, 7]"), R"({"op": "slice", "in": [0], "start": [2, 6],
                                        "stop": [-1, -1], "step": [-2, -3]})"));
  agree_with_dual_numbers(
      behind(x_23 + "," + real_input("z", "[1, 2]"), R"({"op": "update", "in": [0, 1], "start": [1, 1]})"));
}

TEST_CASE("formula/differentiate/indices_that_come_twice", "[unit]") {
  const std::string table = real_input("x", "[2, 3, 2]");
  agree_with_dual_numbers(
      behind(table + "," + integer_input("i", "[2, 4]"), R"({"op": "gather", "in": [0, 1], "axis": 1})"));
  agree_with_dual_numbers(
      behind(table + "," + integer_input("i", "[2, 5, 2]"), R"({"op": "take_along", "in": [0, 1], "axis": 1})"));
  agree_with_dual_numbers(behind(table + "," + integer_input("i", "[4]") + "," + real_input("v", "[2, 4, 2]"),
                                 R"({"op": "scatter_add", "in": [0, 1, 2], "axis": 1})"));
  agree_with_dual_numbers(behind(table + "," + integer_input("i", "[2, 5, 2]") + "," + real_input("v", "[2, 5, 2]"),
                                 R"({"op": "scatter_add_along", "in": [0, 1, 2], "axis": 1})"));
}

TEST_CASE("formula/differentiate/sums_and_rows", "[unit]") {
  const std::string cube = real_input("x", "[2, 3, 2]");
  for (const char* what : {"sum", "mean", "largest", "log_sum_exp"})
    for (const char* axes : {"[0]", "[1]", "[0, 2]", "[0, 1, 2]"})
      agree_with_dual_numbers(
          behind(cube, R"({"op": ")" + std::string(what) + R"(", "in": [0], "axes": )" + axes + "}"));
  for (const char* what : {"softmax", "cumulative_sum"})
    for (const char* axis : {"0", "1", "2"})
      agree_with_dual_numbers(
          behind(cube, R"({"op": ")" + std::string(what) + R"(", "in": [0], "axis": )" + axis + "}"));
  const std::string pair = real_input("x", "[2, 3]") + "," + real_input("z", "[3, 2]");
  for (const char* letters : {"ab,bc->ac", "ab,ba->", "ab,ba->a", "ab,cd->dacb", "ab,bc->abc", "ab,bd->da"})
    agree_with_dual_numbers(behind(pair, R"({"op": "contract", "in": [0, 1], "of": ")" + std::string(letters) + "\"}"));
  agree_with_dual_numbers(behind(cube, R"({"op": "contract", "in": [0, 0], "of": "abc,dbc->ad"})"));
}

TEST_CASE("formula/differentiate/formulas", "[unit]") {
  agree_with_dual_numbers(attention);
  // RMS norm: x w / sqrt(mean x^2 + 1e-5).
  agree_with_dual_numbers(real_input("x", "[2, 4]") + "," + real_input("w", "[4]") + R"(,
    {"op": "multiply", "in": [0, 0]}, {"op": "mean", "in": [2], "axes": [1]}, {"op": "number", "value": 1e-05},
    {"op": "add", "in": [3, 4]}, {"op": "power", "in": [5], "p": -1, "q": 2},
    {"op": "reshape", "in": [6], "shape": [2, 1]}, {"op": "multiply", "in": [0, 7]}, {"op": "multiply", "in": [8, 1]})");
  // Rotation by pairs (0, 1) and (2, 3).
  agree_with_dual_numbers(real_input("x", "[3, 4]") + "," + real_input("t", "[3, 2]") + R"(,
    {"op": "slice", "in": [0], "start": [0, 0], "stop": [3, 4], "step": [1, 2]},
    {"op": "slice", "in": [0], "start": [0, 1], "stop": [3, 4], "step": [1, 2]},
    {"op": "cos", "in": [1]}, {"op": "sin", "in": [1]}, {"op": "multiply", "in": [2, 4]},
    {"op": "multiply", "in": [3, 5]}, {"op": "subtract", "in": [6, 7]}, {"op": "multiply", "in": [2, 5]},
    {"op": "multiply", "in": [3, 4]}, {"op": "add", "in": [9, 10]}, {"op": "reshape", "in": [8], "shape": [3, 2, 1]},
    {"op": "reshape", "in": [11], "shape": [3, 2, 1]}, {"op": "concatenate", "in": [12, 13], "axis": 2},
    {"op": "reshape", "in": [14], "shape": [3, 4]})");
  // Scores with learned biases by distance; most distances share one bias.
  agree_with_dual_numbers(real_input("s", "[4, 4]") + "," + real_input("b", "[3]") + R"(,
    {"op": "iota", "size": 4}, {"op": "reshape", "in": [2], "shape": [4, 1]}, {"op": "subtract", "in": [3, 2]},
    {"op": "magnitude", "in": [4]}, {"op": "integer", "value": 2}, {"op": "minimum", "in": [5, 6]},
    {"op": "gather", "in": [1, 7], "axis": 0}, {"op": "add", "in": [0, 8]}, {"op": "softmax", "in": [9], "axis": 1})");
}

TEST_CASE("formula/differentiate/second_derivatives_of_attention_are_differences", "[unit]") {
  const program first = gradient_of(program_of(attention)), second = gradient_of(first);
  agree_with_dual_numbers(first);
  const auto x = drawn_inputs(second, 5);
  const auto got = evaluated<enclosure>(second, x);
  const auto objective = [&](const numbers_by_name& inputs) {
    double sum = 0;
    for (const auto& [name, values] : evaluated<enclosure>(first, inputs))
      for (std::size_t i = 0; i < values.size(); ++i) sum += x.at("grad_" + name)[i] * to_double(values[i]);
    return sum;
  };
  CHECK(got.size() == 4);
  for (const auto& [name, values] : got)
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto above = x, below = x;
      above[name.substr(5)][i] += 0x1p-17;
      below[name.substr(5)][i] -= 0x1p-17;
      INFO(name << " " << i);
      CHECK(to_double(values[i]) == Approx((objective(above) - objective(below)) / 0x1p-16).epsilon(1e-6).margin(1e-8));
    }
}

TEST_CASE("formula/differentiate/plain_arithmetic_lies_within_the_allowance", "[unit]") {
  const program g = gradient_of(program_of(attention));
  const computing_in format(assay::core::dtype::f32);
  double largest_share_of_it = 0.0;
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    auto x = drawn_inputs(g, seed);
    for (auto& [name, values] : x)
      for (double& each : values) each = static_cast<float>(each);
    const auto truth = evaluated<enclosure>(g, x);
    const auto plain = evaluated<rounded>(g, x);
    const auto law = evaluated<tracked>(g, x);
    for (const auto& [name, values] : truth)
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double error = std::fabs(plain.at(name)[i].number - to_double(values[i]));
        const double allowed = law.at(name)[i].allowance() * tracked::u();
        INFO(name << " " << i);
        CHECK(error <= allowed);
        if (allowed > 0) largest_share_of_it = std::max(largest_share_of_it, error / allowed);
      }
  }
  CHECK(largest_share_of_it > 0.01);
}

// y (g - sum g y): kernels of attention compute the sum as G . o, where only o reads the weights.
TEST_CASE("formula/differentiate/the_mean_of_a_softmax_is_that_of_its_output_as_well", "[unit]") {
  using namespace assay::reference::formula;
  const auto has_mean_of_output = [](const program& p) {
    return std::ranges::any_of(p.nodes(), [&](const node& n) {
      if (n.what != op::another_way) return false;
      const node* other = &p.nodes()[n.in[1]];
      while (other->what == op::reshape) other = &p.nodes()[other->in[0]];
      return other->what == op::contract && other->text == "bic,bic->bi";
    });
  };
  const auto gradient = [](const auto& read) {
    recording recorder;
    const traced x = recorder.input("x", {2, 4, 3}), v = recorder.input("v", {2, 3, 5});
    read(recorder, softmax_along(x, 2), v);
    return *differentiate(recorder.finish());
  };
  const auto output = [](recording& recorder, const traced& weights, const traced& v) {
    recorder.output("o", contracted(weights, v, "bij,bjc->bic"));
  };
  const auto hidden_as = [&](double x) {
    return gradient([&](recording& recorder, const traced& weights, const traced& v) {
      const traced_truth seen =
          broadcast(known_truths({1, 4, 3}, std::vector<bool>{1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1}), shape_of(weights));
      output(recorder, either(seen, weights, traced(x)), v);
    });
  };
  CHECK(has_mean_of_output(gradient(output)));
  CHECK(has_mean_of_output(hidden_as(0.0)));
  CHECK_FALSE(has_mean_of_output(hidden_as(1.0)));  // o contains more than the weights give
  CHECK_FALSE(has_mean_of_output(gradient([&](recording& recorder, const traced& weights, const traced& v) {
    output(recorder, weights, v);
    recorder.output("weights", weights);
  })));
  // A chain that divides and joins again may have any length, so it is not followed.
  CHECK_FALSE(has_mean_of_output(gradient([&](recording& recorder, const traced& weights, const traced& v) {
    traced all = weights;
    const traced_truth is_small = less(weights, traced(0.5));
    for (int k = 0; k < 60; ++k) all = either(is_small, all, all);
    output(recorder, all, v);
  })));
}
