// The optimized tables and their integrals at positions where plain f32 has no digit left (`assay explore --sweep
// angles` shows what the usual recipes lose).
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "optimized/cosine_integral.hpp"
#include "properties/encodings/sinusoidal/tests/tables.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;
using namespace assay::properties::encodings::sinusoidal::testing;

TEST_CASE("sinusoidal/table/optimized_at_every_position", "[property]") {
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
TEST_CASE("sinusoidal/decay/optimized_within_its_bound", "[property]") {
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
TEST_CASE("sinusoidal/decay/optimized_slope_within_its_bound", "[property]") {
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
