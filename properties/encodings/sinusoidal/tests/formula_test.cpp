// Rows small enough to check by hand, the decay curve by its integral, and the bounds of the optimized kernels.
#include <catch2/catch.hpp>
#include <cmath>

#include "optimized/cosine_integral.hpp"
#include "properties/kinds/table.hpp"
#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

std::vector<double> row(const char* odd, std::int64_t width, double position, const char* rule = "paper") {
  return table_by_hand("sinusoidal/table", {{"position", {position}}},
                       {{"width", width},
                        {"first", std::string("cosine")},
                        {"layout", std::string("half_split")},
                        {"odd", std::string(odd)},
                        {"rule", std::string(rule)}});
}

core::request decay_call(const char* operation, core::tensors inputs, double base) {
  return {reference::find_operation(operation), core::dtype::f64, std::move(inputs), {{"base", base}}};
}
core::tensor vector_of(const std::vector<double>& x) { return core::make_tensor(core::dtype::f64, {x.size()}, x); }

}  // namespace

TEST_CASE("sinusoidal/table/by_hand", "[property]") {
  CHECK(table_by_hand("sinusoidal/table", {{"position", {0, 1}}}, {{"width", std::int64_t{4}}}) ==
        std::vector<double>{0, 1, 0, 1, 0.8414709848078965, 0.5403023058681398, 0.009999833334166664,
                            0.9999500004166653});
  // cos 1, cos 0.01, sin 1, sin 0.01, 0: the frequencies of width 4, as in timestep_embedding of
  // openai/guided-diffusion.
  CHECK(row("padded", 5, 1.0) ==
        std::vector<double>{0.5403023058681398, 0.9999500004166653, 0.8414709848078965, 0.009999833334166664, 0.0});
  // Here the second frequency is 10000^(-2/5) = 0.0251188643150958.
  const std::vector<double> zero = row("zero", 5, 1.0), extra = row("extra", 5, 1.0);
  CHECK(std::fabs(zero[3] - 0.025116222909773774) < 1e-16);
  CHECK(zero[4] == 0.0);
  CHECK(std::fabs(extra[4] - 0.025116222909773774) < 1e-16);
  // Widths and rules for which the two do not differ.
  for (const std::int64_t width : {1, 2, 6, 8}) CHECK(row("padded", width, 3.0) == row("zero", width, 3.0));
  for (const std::int64_t width : {3, 5, 7})
    CHECK(row("padded", width, 3.0, "tensor2tensor") == row("zero", width, 3.0, "tensor2tensor"));
}

TEST_CASE("sinusoidal/decay/closed_form_is_the_integral", "[property]") {
  const std::vector<double> s{0.5, 50, 1000}, closed = table_by_hand("sinusoidal/decay", {{"s", s}}, {{"base", 1e4}});
  constexpr std::size_t steps = std::size_t{1} << 20;  // Simpson's error: (s ln b / steps)^4 / 180 < 10^-10
  for (std::size_t k = 0; k < s.size(); ++k) {
    double sum = 0;
    for (std::size_t i = 0; i <= steps; ++i)
      sum += (i % steps == 0 ? 1
              : i % 2 == 1   ? 4
                             : 2) *
             std::cos(s[k] * std::pow(1e4, -static_cast<double>(i) / static_cast<double>(steps)));
    INFO("s = " << s[k]);
    CHECK(std::fabs(sum / (3.0 * static_cast<double>(steps)) - closed[k]) < 1e-10);
  }
  CHECK(closed[1] == Approx(0.51198).epsilon(1e-5));
  CHECK(closed[2] == Approx(0.18769).epsilon(3e-5));
}

// The bounds stated in optimized/cosine_integral.hpp.
TEST_CASE("sinusoidal/decay/optimized_within_its_bounds", "[property]") {
  core::counter_random random(seed);
  double largest = 0, largest_slope = 0;
  for (const double base : {20.0, 100.0, 1000.0, 10000.0, 1e9}) {
    std::vector<double> s{0.0, 3.0, 3.0 * base, 1.0, base};
    for (std::size_t k = 0; k < scaled(200); ++k) {
      s.push_back(random.sign() * std::ldexp(random.uniform(1.0, 2.0), static_cast<int>(random.below(50)) - 19));
      s.push_back(random.uniform(0.0, 12.0));
      s.push_back(random.uniform(0.0, 12.0) * base);
    }
    const core::tensor distances = vector_of(s), ones = vector_of(std::vector<double>(s.size(), 1.0));
    const auto truth = reference::certify(decay_call("sinusoidal/decay", {{"s", distances}}, base)).at("g");
    const auto slope =
        reference::certify(decay_call("sinusoidal/decay:vjp", {{"s", distances}, {"grad_g", ones}}, base)).at("grad_s");
    for (std::size_t k = 0; k < s.size(); ++k) {
      INFO("base " << base << " s " << s[k]);
      const double error = std::fabs(truth.error_of(optimized::decay_at(s[k], base), k)), size = std::fabs(s[k]);
      CHECK(error <= 0x1p-51);
      largest = std::max(largest, error);
      if (size == 0.0) continue;
      const double bound =
          0x1p-53 * (size <= 1.0 ? 13.0 * std::fabs(slope.truth(k)) : (11.0 + size / base) / (size * std::log(base)));
      const double share = std::fabs(slope.error_of(optimized::decay_slope_at(s[k], base), k)) / bound;
      CHECK(share <= 1.0);
      largest_slope = std::max(largest_slope, share);
    }
  }
  INFO(largest * 0x1p53 << " u; of the slope " << largest_slope << " of its bound");
  CHECK(largest > 0x1p-54);
  CHECK(largest_slope > 0.05);
  CHECK(optimized::decay_slope_at(0.0, 20.0) == 0.0);
  CHECK(std::isnan(optimized::decay_slope_at(std::nan(""), 20.0)));
}
