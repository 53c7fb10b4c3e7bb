// How far sinusoidal tables in f32 lie from the truth: the usual recipes, whose error grows with the position, and the
// optimized code, whose error does not. All figures: properties_test "[hazards]" -s
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "optimized/cosine_integral.hpp"
#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

/// Frequency i of d columns as a recipe in f32 computes it, base 10000.
using recipe = float (*)(std::size_t i, std::size_t d);

float by_power(std::size_t i, std::size_t d) {
  return 1.0F / std::pow(10000.0F, static_cast<float>(2 * i) / static_cast<float>(d));
}
float by_exponential(std::size_t i, std::size_t d) {
  return std::exp(static_cast<float>(2 * i) * (-std::log(10000.0F) / static_cast<float>(d)));
}
float rounded_once(std::size_t i, std::size_t d) {
  return static_cast<float>(std::pow(10000.0, -static_cast<double>(2 * i) / static_cast<double>(d)));
}

core::request table_call(core::dtype type, std::vector<double> positions, std::size_t width) {
  return {reference::find_operation("sinusoidal/table"),
          type,
          {{"position", core::make_tensor(core::dtype::i64, {positions.size()}, positions)}},
          {{"width", static_cast<std::int64_t>(width)}}};
}

// The largest error over the row of a position: angle in f32, its sine and cosine rounded correctly.
double largest_error(recipe theta, std::size_t d, double position) {
  const auto truth = reference::certify(table_call(core::dtype::f64, {position}, d));
  double largest = 0;
  for (std::size_t c = 0; c < d; ++c) {
    const float angle = static_cast<float>(position) * theta(c / 2, d);
    const double x = c % 2 == 0 ? std::sin(static_cast<double>(angle)) : std::cos(static_cast<double>(angle));
    largest = std::max(largest, std::fabs(truth.at("p").error_of(static_cast<float>(x), c)));
  }
  return largest;
}

constexpr std::array hazard_positions{1e3, 2048.0, 1e4, 1e5, 1e6};

}  // namespace

// Expected is what PyTorch 1.13's pow and exp gave against 40 digits of mpmath. A library whose functions are off by
// another unit of the last place lets the recipe be off by more: `widest` is the largest that was seen, with NumPy.
TEST_CASE("sinusoidal/table/hazards_of_f32", "[.hazards]") {
  struct row {
    std::size_t d;
    const char* name;
    recipe theta;
    std::array<double, 5> expected, widest;
  };
  const row rows[] = {
      {128, "pow", by_power, {2.9e-5, 6.1e-5, 3.2e-4, 5.2e-3, 5.2e-2}, {2.9e-5, 6.1e-5, 3.2e-4, 5.2e-3, 5.2e-2}},
      {128, "exp", by_exponential, {2.6e-5, 6.1e-5, 6.5e-4, 2.6e-3, 3.0e-2}, {5.7e-5, 1.0e-4, 6.5e-4, 5.7e-3, 5.5e-2}},
      {512, "pow", by_power, {6.1e-5, 8.0e-5, 5.0e-4, 5.2e-3, 6.2e-2}, {8.1e-5, 2.1e-4, 1.2e-3, 1.5e-2, 6.7e-2}},
      {512,
       "f64 rounded once",
       rounded_once,
       {4.1e-5, 6.1e-5, 5.0e-4, 5.3e-3, 5.2e-2},
       {4.1e-5, 6.1e-5, 5.0e-4, 5.3e-3, 5.2e-2}}};
  for (const row& r : rows)
    for (std::size_t k = 0; k < hazard_positions.size(); ++k) {
      const double error = largest_error(r.theta, r.d, hazard_positions[k]);
      INFO(fmt::format("d = {}, {}, position {}: {:.1e} (expected {:.1e}, widest {:.1e})", r.d, r.name,
                       hazard_positions[k], error, r.expected[k], r.widest[k]));
      CHECK(error >= r.expected[k] / 2);
      CHECK(error <= 2 * r.widest[k]);
    }
}

TEST_CASE("sinusoidal/table/optimized_at_every_position", "[property][hazards]") {
  const std::vector<double> positions{0,     255,   256,     257,      258,        2047, 2048, 2049, 2050,   65535,
                                      65536, 65537, 1048576, 16777217, 2147483647, -1,   -257, 355,  312689, 169646};
  const auto optimized = make_builtin("optimized").value();
  for (const core::dtype type : {core::dtype::f32, core::dtype::f64})
    for (const std::size_t width : {128, 512}) {
      const core::request call = table_call(type, positions, width);
      const auto truth = reference::certify(call);
      const auto outputs = optimized->evaluate(call).value();
      double largest = 0;
      for (std::size_t k = 0; k < outputs.at("p").size(); ++k)
        largest = std::max(largest, std::fabs(truth.at("p").error_of(outputs.at("p").values.storage()[k], k)));
      const double ulp = 2 * core::half_ulp(type, 1.0);
      INFO(core::name_of(type) << " width " << width << ": " << largest / ulp << " ulp of 1");
      CHECK(largest <= 2 * ulp);
      CHECK(largest > 0);
    }
}

// The bound that optimized/cosine_integral.hpp states.
TEST_CASE("sinusoidal/decay/optimized_within_its_bound", "[property][hazards]") {
  core::counter_random random(seed);
  double largest = 0;
  for (const double base : {20.0, 100.0, 1000.0, 10000.0, 1e9}) {
    std::vector<double> s{0.0, 3.0, 3.0 * base, 1.0, base};
    for (std::size_t k = 0; k < scaled(200); ++k) {
      s.push_back(std::ldexp(random.uniform(1.0, 2.0), static_cast<int>(random.below(50)) - 19));
      s.push_back(random.uniform(0.0, 12.0));
      s.push_back(random.uniform(0.0, 12.0) * base);
    }
    const auto truth = reference::certify({reference::find_operation("sinusoidal/decay"),
                                           core::dtype::f64,
                                           {{"s", core::make_tensor(core::dtype::f64, {s.size()}, s)}},
                                           {{"base", base}}});
    for (std::size_t k = 0; k < s.size(); ++k) {
      INFO("base " << base << " s " << s[k]);
      const double error = std::fabs(truth.at("g").error_of(optimized::decay_at(s[k], base), k));
      CHECK(error <= 0x1p-51);
      largest = std::max(largest, error);
    }
  }
  INFO(largest * 0x1p53 << " u");
  CHECK(largest > 0x1p-54);
}

// As is that of its derivative.
TEST_CASE("sinusoidal/decay/optimized_slope_within_its_bound", "[property][hazards]") {
  core::counter_random random(seed);
  double largest = 0;
  for (const double base : {20.0, 1000.0, 10000.0, 1e9}) {
    std::vector<double> s{1.0, base};
    for (std::size_t k = 0; k < scaled(200); ++k) {
      s.push_back(random.sign() * std::ldexp(random.uniform(1.0, 2.0), static_cast<int>(random.below(50)) - 19));
      s.push_back(random.uniform(0.0, 3.0));
    }
    const core::tensor distances = core::make_tensor(core::dtype::f64, {s.size()}, s);
    const core::tensor ones = core::make_tensor(core::dtype::f64, {s.size()}, std::vector<double>(s.size(), 1.0));
    const auto truth = reference::certify({reference::find_operation("sinusoidal/decay:vjp"),
                                           core::dtype::f64,
                                           {{"s", distances}, {"grad_g", ones}},
                                           {{"base", base}}});
    for (std::size_t k = 0; k < s.size(); ++k) {
      INFO("base " << base << " s " << s[k]);
      const double slope = optimized::decay_slope_at(s[k], base), size = std::fabs(s[k]);
      const double error = std::fabs(truth.at("grad_s").error_of(slope, k));
      const double bound = 0x1p-53 * (size <= 1.0 ? 13.0 * std::fabs(truth.at("grad_s").truth(k))
                                                  : (11.0 + size / base) / (size * std::log(base)));
      CHECK(error <= bound);
      largest = std::max(largest, error / bound);
    }
  }
  INFO("largest error / bound " << largest);
  CHECK(largest > 0.05);
  CHECK(optimized::decay_slope_at(0.0, 20.0) == 0.0);
  CHECK(std::isnan(optimized::decay_slope_at(std::nan(""), 20.0)));
}
