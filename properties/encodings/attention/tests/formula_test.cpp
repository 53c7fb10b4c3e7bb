// Attention as kernels provide it, small enough to compute by hand: all keys weigh the same.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "properties/tests/by_hand.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using std::string;

namespace {

// The output for n queries of 0 and keys with the values 1, 2, 4, ...; `u` is the number of query heads.
std::vector<double> of_equal_keys(const string& operation, std::size_t n, std::size_t m, core::attributes settings,
                                  double sink = 0.0) {
  const auto group = settings.find("group");
  const std::size_t u = group == settings.end() ? 1 : static_cast<std::size_t>(std::get<std::int64_t>(group->second));
  core::request call{reference::find_operation(operation), core::dtype::f64, {}, std::move(settings)};
  std::vector<double> values;
  for (std::size_t j = 0; j < m; ++j) values.push_back(std::ldexp(1.0, static_cast<int>(j)));
  call.inputs.emplace("q", core::make_tensor(call.type, {1, u, n, 1}, std::vector<double>(u * n)));
  call.inputs.emplace("k", core::make_tensor(call.type, {1, 1, m, 1}, std::vector<double>(m, 1.0)));
  const core::operation& forward = reference::forward_of(*call.operation);
  if (forward.input("v")) call.inputs.emplace("v", core::make_tensor(call.type, {1, 1, m, 1}, values));
  if (forward.input("sink"))
    call.inputs.emplace("sink", core::make_tensor(call.type, {u}, std::vector<double>(u, sink)));
  const string output = call.operation->is_vjp() ? "grad_v" : forward.outputs.front().name;
  if (call.operation->is_vjp())
    call.inputs.emplace("grad_o", core::make_tensor(call.type, {1, u, n, 1}, std::vector<double>(u * n, 1.0)));
  const core::tensor y = reference::certify(call).at(output).rounded;
  return {y.values.begin(), y.values.end()};
}
using numbers = std::vector<double>;
using count = std::int64_t;

}  // namespace

TEST_CASE("attention/grouped_query/by_hand", "[property]") {
  const string operation = "attention/grouped_query", first = "first";
  CHECK(of_equal_keys(operation, 2, 4, {}) == numbers{3.75, 3.75});
  CHECK(of_equal_keys(operation, 2, 4, {{"causal", true}}) == numbers{7.0 / 3, 3.75});
  CHECK(of_equal_keys(operation, 2, 4, {{"causal", true}, {"alignment", first}}) == numbers{1, 1.5});
  CHECK(of_equal_keys(operation, 2, 4, {{"causal", true}, {"window_left", count{1}}}) == numbers{3, 6});
  CHECK(of_equal_keys(operation, 2, 4, {{"window_left", count{0}}, {"window_right", count{1}}}) == numbers{6, 8});
  CHECK(of_equal_keys(operation, 2, 4, {{"window_right", count{0}}, {"alignment", first}}) == numbers{1, 1.5});
  CHECK(of_equal_keys(operation, 3, 2, {{"causal", true}}) == numbers{0, 1, 1.5});
  // Two heads of two queries, each with the cotangent 1: each key has a quarter of all four.
  CHECK(of_equal_keys(operation + ":vjp", 2, 4, {{"group", count{2}}}) == numbers{1, 1, 1, 1});
}

TEST_CASE("attention/sinks/by_hand", "[property]") {
  CHECK(of_equal_keys("attention/sinks", 1, 4, {}) == numbers{3});  // the sink takes one of five equal shares
  CHECK(of_equal_keys("attention/sinks", 1, 4, {}, -std::numeric_limits<double>::infinity()) == numbers{3.75});
  CHECK(of_equal_keys("attention/sinks", 2, 1, {{"causal", true}, {"group", count{2}}}) == numbers{0, 0.5, 0, 0.5});
}

// In pytorch/torchtitan, o sigmoid(lse - sink) has the derivative y (1 - y): for a sink far below lse it keeps no
// digit.
TEST_CASE("attention/sinks/beside_the_output_of_keys", "[property]") {
  constexpr auto type = core::dtype::f32;
  const auto column = [](std::size_t rows, const numbers& x) { return core::make_tensor(type, {1, 1, rows, 1}, x); };
  std::size_t beyond_sequential = 0;
  for (float sink = 3; sink > -30; sink -= 0.37F) {
    const properties::call_by_hand gradient("attention/sinks:vjp", type,
                                            {{"q", column(1, {0})},
                                             {"k", column(4, {1, 1, 1, 1})},
                                             {"v", column(4, {1, 2, 4, 8})},
                                             {"sink", core::make_tensor(type, {1}, numbers{sink})},
                                             {"grad_o", column(1, {1})}});
    const float y = 1 / (1 + std::exp(sink - std::log(4.0F))), slope = y * (1 - y) * 3.75F;
    CAPTURE(sink, slope, gradient.truth("grad_sink"), gradient.bug("grad_sink"));
    CHECK(gradient.allows(-slope, "grad_sink"));
    CHECK(gradient.allows(slope, "grad_q"));
    if (sink > -9) CHECK(!gradient.allows(0, "grad_sink"));
    CHECK(gradient.bug("grad_sink") < 2e-5);
    if (std::fabs(slope + gradient.truth("grad_sink")) >
        gradient.of_class(reference::accuracy_class::sequential, "grad_sink"))
      ++beyond_sequential;
  }
  CHECK(beyond_sequential > 20);
}

TEST_CASE("attention/lse/by_hand", "[property]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const string two = "2", plus = "plus_infinity";
  CHECK(of_equal_keys("attention/lse", 1, 4, {{"base", two}}) == numbers{2});
  CHECK(of_equal_keys("attention/lse", 1, 1, {}) == numbers{0});
  CHECK(of_equal_keys("attention/lse", 3, 2, {{"causal", true}, {"base", two}}) == numbers{-infinity, 0, 1});
  CHECK(of_equal_keys("attention/lse", 2, 1, {{"causal", true}, {"empty", plus}}) == numbers{infinity, 0});
  // A cap of 3/2: tanh of a large number is 1 to all digits.
  core::request call{reference::find_operation("attention/lse"), core::dtype::f64, {}, {{"softcap", 1.5}}};
  call.inputs.emplace("q", core::make_tensor(call.type, {1, 1, 1, 1}, numbers{-1000}));
  call.inputs.emplace("k", core::make_tensor(call.type, {1, 1, 1, 1}, numbers{1}));
  CHECK(reference::certify(call).at("lse").rounded.values(0, 0, 0) == -1.5);
}
