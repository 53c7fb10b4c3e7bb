// Programs as people write them: the whole text of some.
#include "reference/formula/mathematics.hpp"

#include <catch2/catch.hpp>
#include <chrono>

#include "reference/formula/text.hpp"

using namespace assay;
using namespace assay::reference;

namespace {

std::string as_written(const std::string& nodes, const std::string& outputs) {
  const auto p = formula::read_program(R"({"schema": "assay-program/1", "nodes": [)" + nodes + R"(], "outputs": [)" +
                                       outputs + "]}");
  INFO((p ? std::string() : p.error().message));
  REQUIRE(p.has_value());
  return formula::as_mathematics(*p);
}

}  // namespace

TEST_CASE("formula/mathematics/causal_attention", "[unit]") {
  CHECK(as_written(R"({"op": "input", "name": "q", "kind": "real", "shape": [3, 2]},
                      {"op": "input", "name": "k", "kind": "real", "shape": [3, 2]},
                      {"op": "input", "name": "v", "kind": "real", "shape": [3, 2]},
                      {"op": "contract", "in": [0, 1], "of": "nd,md->nm", "stage": "scores"},
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
                   R"({"name": "o", "node": 13}, {"name": "p", "node": 12})") == R"(q: real [3, 2]
k: real [3, 2]
v: real [3, 2]
t1[n,m] = sum_d q[n,d] k[m,d] [in scores]
t2 = t1 / 2^(1/2) where iota(3) <= reshape(iota(3), [3, 1]), else -inf
t3 = softmax over axis 1 of t2
output o[n,e] = sum_m t3[n,m] v[m,e]
output p = t3
)");
}

TEST_CASE("formula/mathematics/rms_norm", "[unit]") {
  CHECK(as_written(R"({"op": "input", "name": "x", "kind": "real", "shape": [2, 5]},
                      {"op": "input", "name": "w", "kind": "real", "shape": [5]},
                      {"op": "power", "in": [0], "p": 2, "q": 1},
                      {"op": "mean", "in": [2], "axes": [1]},
                      {"op": "number", "value": 1e-5},
                      {"op": "add", "in": [3, 4]},
                      {"op": "power", "in": [5], "p": -1, "q": 2},
                      {"op": "reshape", "in": [6], "shape": [2, 1]},
                      {"op": "multiply", "in": [0, 7]},
                      {"op": "multiply", "in": [8, 1]})",
                   R"({"name": "y", "node": 9})") == R"(x: real [2, 5]
w: real [5]
t1 = x * reshape(((mean over axis 1 of x^2) + 1e-05)^(-1/2), [2, 1])
output y = t1 * w
)");
}

TEST_CASE("formula/mathematics/alibi", "[unit]") {
  CHECK(as_written(R"({"op": "input", "name": "scores", "kind": "real", "shape": [4, 3, 3]},
                      {"op": "iota", "size": 4},
                      {"op": "integer", "value": 1},
                      {"op": "add", "in": [1, 2]},
                      {"op": "to_real", "in": [3]},
                      {"op": "fraction", "numerator": -8, "denominator": 4},
                      {"op": "multiply", "in": [4, 5]},
                      {"op": "number", "value": 2},
                      {"op": "pow", "in": [7, 6]},
                      {"op": "reshape", "in": [8], "shape": [4, 1, 1]},
                      {"op": "iota", "size": 3},
                      {"op": "reshape", "in": [10], "shape": [3, 1]},
                      {"op": "subtract", "in": [11, 10]},
                      {"op": "to_real", "in": [12]},
                      {"op": "multiply", "in": [9, 13]},
                      {"op": "subtract", "in": [0, 14]},
                      {"op": "integer", "value": 0},
                      {"op": "less", "in": [12, 16]},
                      {"op": "number", "value": "-inf"},
                      {"op": "where", "in": [17, 18, 15]},
                      {"op": "softmax", "in": [19], "axis": 2})",
                   R"({"name": "out", "node": 20})") == R"(scores: real [4, 3, 3]
t1 = reshape(iota(3), [3, 1]) - iota(3)
t2 = reshape(2^(to_real(iota(4) + 1) * (-8/4)), [4, 1, 1]) * to_real(t1)
output out = softmax over axis 2 of (-inf where t1 < 0, else scores - t2)
)");
}

TEST_CASE("formula/mathematics/parentheses_stand_where_they_are_needed", "[unit]") {
  CHECK(as_written(R"({"op": "input", "name": "a", "kind": "real", "shape": []},
                      {"op": "input", "name": "b b'", "kind": "real", "shape": []},
                      {"op": "add", "in": [0, 1]},
                      {"op": "subtract", "in": [0, 2]},
                      {"op": "multiply", "in": [3, 1]},
                      {"op": "negative", "in": [4]},
                      {"op": "power", "in": [5], "p": 3, "q": 1},
                      {"op": "magnitude", "in": [6]},
                      {"op": "exp", "in": [7]},
                      {"op": "maximum", "in": [8, 0]},
                      {"op": "less", "in": [0, 1]},
                      {"op": "is_nan", "in": [0]},
                      {"op": "or", "in": [10, 11]},
                      {"op": "not", "in": [12]},
                      {"op": "and", "in": [13, 10]},
                      {"op": "where", "in": [14, 9, 1]})",
                   R"({"name": "y", "node": 15})") == R"(a: real []
'b b?': real []
t1 = a < 'b b?'
output y = max(exp(|(-((a - (a + 'b b?')) * 'b b?'))^3|), a) where not (t1 or is_nan(a)) and t1, else 'b b?'
)");
}

TEST_CASE("formula/mathematics/movement_and_reductions", "[unit]") {
  CHECK(as_written(R"({"op": "input", "name": "x", "kind": "real", "shape": [2, 3]},
                      {"op": "input", "name": "i", "kind": "integer", "shape": [2]},
                      {"op": "slice", "in": [0], "start": [0, 2], "stop": [2, -1], "step": [1, -1]},
                      {"op": "concatenate", "in": [2, 0], "axis": 1},
                      {"op": "gather", "in": [3, 1], "axis": 1},
                      {"op": "update", "in": [0, 4], "start": [0, 1]},
                      {"op": "log_sum_exp", "in": [5], "axes": [0, 1]},
                      {"op": "contract", "in": [6, 0], "of": ",ab->ba"},
                      {"op": "cumulative_sum", "in": [7], "axis": 0},
                      {"op": "sum", "in": [8], "axes": [1]})",
                   R"({"name": "y", "node": 9})") ==
        R"(x: real [2, 3]
i: integer [2]
t1 = concatenate(slice(x, start [0, 2], stop [2, -1], step [1, -1]), x, axis 1)
t2 = log_sum_exp over axes 0, 1 of update(x, gather(t1, i, axis 1), at [0, 1])
t3[b,a] = t2 x[a,b]
output y = sum over axis 1 of (cumulative_sum over axis 0 of t3)
)");
}

TEST_CASE("formula/mathematics/long_programs_are_cut_with_a_count", "[unit]") {
  formula::program p;
  REQUIRE(p.append({.what = formula::op::input, .integers = {{{}, {0}, {}}}, .text = "x"}).has_value());
  while (p.nodes().size() < formula::most_nodes) {
    const auto last = static_cast<formula::node_id>(p.nodes().size() - 1);
    REQUIRE(p.append({.what = formula::op::multiply, .in = {last, last}}).has_value());
  }
  REQUIRE(p.name_output("y", static_cast<formula::node_id>(p.nodes().size() - 1)).has_value());
  const auto before = std::chrono::steady_clock::now();
  const std::string text = formula::as_mathematics(p);
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(1));
  CHECK(text.size() < 100 * formula::most_shown_lines);
  CHECK(text.find("... 64534 more named results\n") != std::string::npos);  // there are 65534 squares, each used twice
  CHECK(text.ends_with("output y = t65534 * t65534\n"));
}

TEST_CASE("formula/mathematics/a_loop_has_its_body_below_it", "[unit]") {
  CHECK(as_written(
            R"({"op": "input", "name": "x", "kind": "real", "shape": [9, 2]}, {"op": "number", "value": 0},
         {"op": "broadcast", "in": [1], "shape": [2]}, {"op": "scan", "in": [2, 0], "turns": 9, "carried": 1,
          "stepped": 1, "body": {"nodes": [{"op": "input", "name": "s", "kind": "real", "shape": [2]},
          {"op": "input", "name": "x", "kind": "real", "shape": [2]}, {"op": "add", "in": [0, 1]},
          {"op": "tanh", "in": [2]}], "outputs": [{"name": "next", "node": 3}, {"name": "given", "node": 2}]}})",
            R"({"name": "y", "node": 3})") ==
        "x: real [9, 2]\n"
        "t1 = 9 turns with s from broadcast(0, [2]), x in each of x:\n"
        "  s: real [2]\n"
        "  x: real [2]\n"
        "  u1 = s + x\n"
        "  output next = tanh(u1)\n"
        "  output given = u1\n"
        "output y = t1\n");
}
