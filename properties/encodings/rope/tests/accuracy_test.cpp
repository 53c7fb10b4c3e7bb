// The guarantees of the optimized rotary embedding: 2 ulp at every position, and the same bits in both layouts and on
// any number of threads.
// `properties_test "rope/rotate/largest_error*" -s` shows the errors, beside those of plain f32.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "optimized/dispatch.hpp"
#include "properties/builtin.hpp"
#include "properties/tests/effort.hpp"
#include "reference/core/counter_random.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::properties;

namespace {

constexpr std::size_t features = 64;

request rotation(core::dtype type, const std::vector<double>& positions, const std::string& layout,
                 std::uint64_t seed) {
  core::counter_random random(seed);
  std::vector<double> x(positions.size() * features);
  for (double& v : x) v = random.normal();
  request call{reference::find_operation("rope/rotate"), type, {}, {{"layout", layout}}};
  call.inputs.emplace("x", core::make_tensor(type, {1, positions.size(), 1, features}, x));
  call.inputs.emplace("position", core::make_tensor(core::dtype::i64, {1, positions.size()}, positions));
  return call;
}

// The largest error of y, in ulp of max(1, |y|).
double largest_error_ulp(const std::string& builtin, const request& call) {
  const core::tensors outputs = make_builtin(builtin).value()->evaluate(call).value();
  const reference::certified truth = reference::truth_of(call).at("y");
  const auto& y = outputs.at("y").values.storage();
  double largest = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double ulp = 2.0 * core::half_ulp(call.type, std::max(1.0, std::fabs(truth.truth(i))));
    largest = std::max(largest, std::fabs(truth.error_of(y[i], i)) / ulp);
  }
  return largest;
}

}  // namespace

TEST_CASE("rope/rotate/largest_error_at_hard_positions", "[property]") {
  const double hard[] = {0,    255,   256,   257,   258,     2047,     2048,      2049,
                         2050, 65535, 65536, 65537, 1048576, 16777217, 268435455, 2147483647};
  std::string table = "position        f32     f64  plain f32  plain f64, ulp of max(1, |y|)\n";
  for (const double m : hard) {
    const std::vector<double> positions(scaled(4), m);
    const request in_f32 = rotation(core::dtype::f32, positions, "interleaved", 71),
                  in_f64 = rotation(core::dtype::f64, positions, "half_split", 72);
    const double f32 = largest_error_ulp("optimized", in_f32), f64 = largest_error_ulp("optimized", in_f64);
    table += fmt::format("{:>10} {:>8.3f} {:>7.3f} {:>10.3g} {:>10.3g}\n", m, f32, f64,
                         largest_error_ulp("sequential", in_f32), largest_error_ulp("sequential", in_f64));
    INFO("position " << m);
    CHECK(f32 <= 2.0);
    CHECK(f64 <= 2.0);
  }
  INFO(table);
  SUCCEED();
}

TEST_CASE("rope/rotate/layouts_agree_bit_by_bit", "[property]") {
  std::vector<std::size_t> side_by_side(features);  // for each place of the interleaved layout, that in halves
  for (std::size_t k = 0; k < features; ++k) side_by_side[k] = k / 2 + k % 2 * features / 2;
  for (const core::dtype type : {core::dtype::f32, core::dtype::f64})
    for (const char* name : {"optimized", "sequential"}) {
      request half = rotation(type, {0, 1, 17, 256, 65537, 2147483647}, "half_split", 73), interleaved = half;
      interleaved.attributes["layout"] = std::string("interleaved");
      interleaved.inputs.at("x") = core::take(half.inputs.at("x"), 3, side_by_side);
      const auto under_test = make_builtin(name).value();
      const core::tensor expected = under_test->evaluate(half).value().at("y");
      INFO(name << " " << core::name_of(type));
      CHECK(core::identical(core::take(expected, 3, side_by_side), under_test->evaluate(interleaved).value().at("y")));
    }
}

TEST_CASE("rope/rotate_by/same_bits_for_any_number_of_threads", "[property]") {
  core::counter_random random(74);
  const auto filled = [&](const core::shape& shape) {
    std::vector<double> x(core::element_count(shape));
    for (double& v : x) v = random.normal();
    return core::make_tensor(core::dtype::f64, shape, x);
  };
  request call{reference::find_operation("rope/rotate_by:vjp"), core::dtype::f64, {}, {}};
  call.inputs = {{"x", filled({2, 45, 3, 9})},
                 {"theta", filled({4})},
                 {"position", filled({2, 45})},
                 {"grad_y", filled({2, 45, 3, 9})}};
  const auto under_test = make_builtin("optimized").value();
  optimized::set_threads(1);
  const core::tensors alone = under_test->evaluate(call).value();
  for (const int threads : {2, 3, 8}) {
    optimized::set_threads(threads);
    const core::tensors together = under_test->evaluate(call).value();
    for (const auto& [name, t] : alone) {
      INFO(name << " on " << threads << " threads");
      CHECK(core::identical(t, together.at(name)));
    }
  }
  optimized::set_threads(0);
}
