// Errors are measured against the scale that an output declares.
#include <catch2/catch.hpp>
#include <cmath>

#include "properties/harness/detectability.hpp"
#include "properties/harness/verdict.hpp"
#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using assay::properties::testing::rounded_truth_of;
using core::dtype;
using core::error_scale;

namespace {

std::vector<double> scales(error_scale s, dtype t, const core::shape& shape, const std::vector<double>& truth) {
  return core::error_scales({.name = "y", .axes = {}, .scale = s}, t, shape, truth);
}

// The verdict if the first theta below 3e-4 has the relative error `error`.
value_report with_wrong_frequency(const char* operation, double error) {
  const core::operation* op = reference::find_operation(operation);
  const request call{
      op, dtype::f32, {{"base", core::make_tensor(dtype::f32, {1}, {500000.0})}}, {{"pairs", std::int64_t{8}}}};
  const auto expected = expect(call, dtype::f32);
  core::tensors outputs = rounded_truth_of(*expected);
  auto& theta = outputs.at("theta").values.storage();
  const auto small = std::find_if(theta.begin(), theta.end(), [](double x) { return x < 3e-4; });
  REQUIRE(small != theta.end());
  *small = core::round_to(dtype::f32, *small * (1.0 + error));
  return judge(*expected, outputs);
}

}  // namespace

TEST_CASE("core/error_scales/by_declaration_and_truth", "[unit]") {
  const std::vector<double> truth{0.0, 1e-3, -5.0, 1e-320, -INFINITY, 2.0};
  const double tiny = core::smallest_normal(dtype::f64);
  CHECK(scales(error_scale::absolute, dtype::f64, {6}, truth) == std::vector<double>{1, 1, 5, 1, 1, 2});
  CHECK(scales(error_scale::relative, dtype::f64, {6}, truth) == std::vector<double>{tiny, 1e-3, 5, tiny, tiny, 2});
  CHECK(scales(error_scale::by_row, dtype::f64, {2, 3}, truth) == std::vector<double>{5, 5, 5, 2, 2, 2});
  CHECK(scales(error_scale::by_row, dtype::f64, {6, 1}, truth) ==
        scales(error_scale::relative, dtype::f64, {6}, truth));
  CHECK(scales(error_scale::relative, dtype::i64, {6}, truth) == std::vector<double>(6, 1.0));
  for (const error_scale s : {error_scale::absolute, error_scale::relative, error_scale::by_row})
    CHECK(scales(s, dtype::f32, {2, 0}, {}).empty());
  // An ulp of the scale is never 0, in any dtype.
  for (const dtype t : core::floating_dtypes)
    CHECK(core::half_ulp(t, scales(error_scale::relative, t, {1}, {0.0})[0]) > 0.0);
}

TEST_CASE("properties/error_scale/small_frequencies_are_measured_against_themselves", "[unit]") {
  for (const char* operation : {"rope/frequencies", "sinusoidal/frequencies"}) {
    INFO(operation);
    // 50 u: a right exp(-e log b) in f32 loses at most 4 e log b + 2 = 36 u.
    const value_report off = with_wrong_frequency(operation, 3e-6);
    CHECK(off.largest_ulp > 25.0);
    CHECK_FALSE(off.ratios[0] <= 1.0);
    CHECK_FALSE(off.accuracy_class());
    CHECK_FALSE(with_wrong_frequency(operation, 5e-6).passed);
    CHECK(with_wrong_frequency(operation, 0.0).accuracy_class() == reference::accuracy_class::uniform);
  }
}

// For every output of every operation: an error of 2^k u of its own scale is caught in any element, for the k that the
// detectability map gives.
TEST_CASE("properties/error_scale/relative_mutants_are_caught_from_the_map_on", "[property][gate]") {
  constexpr std::uint64_t seed = 91;
  constexpr dtype type = dtype::f32;
  std::size_t outputs_tried = 0, caught = 0;
  for (const core::operation& op : reference::operations()) {
    std::map<std::pair<std::string, std::string>, std::optional<int>> from;
    for (const detectable_error& e : detectable_errors(op, type, seed, 1)) from[{e.output, e.family}] = e.log2_error;
    for (const family& f : families_of(op))
      for (std::uint64_t k = 0; k < 2; ++k) {
        const extent size{k == 0 ? lengths::short_ones : lengths::around_blocks};
        const auto expected = expect(make_case({&op, type, f.name, seed + k, size}, f).call, type);
        const core::tensors truth = rounded_truth_of(*expected);
        for (const auto& [name, t] : truth) {
          const auto cell = from.find({name, f.name});
          if (cell == from.end() || !cell->second || t.size() == 0) continue;
          const std::vector<double> output_scales = scales_of(*expected, name);
          ++outputs_tried;
          for (const std::size_t i : {std::size_t{0}, t.size() / 2, t.size() - 1}) {
            const double right = t.values.storage()[i];
            const double bound = all_laws(*expected)->at(name).k.back().storage()[i];
            const double error = std::ldexp(core::unit_roundoff(type) * output_scales[i], *cell->second);
            const double wrong = core::round_to(type, right + error);
            if (!std::isfinite(right) || !std::isfinite(wrong) || !std::isfinite(bound)) continue;
            core::tensors outputs = truth;
            outputs.at(name).values.storage()[i] = wrong;
            INFO(op.name << " " << name << " " << f.name << " element " << i << " 2^" << *cell->second);
            CHECK_FALSE(judge(*expected, outputs).passed);
            ++caught;
          }
        }
      }
  }
  CHECK(outputs_tried > 500);
  CHECK(caught > 1000);
}
