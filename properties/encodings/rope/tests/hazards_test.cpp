// What the usual recipes of rotary embedding lose in a score (R_m q) . (R_{m+10} k) / sqrt(d), d = 128, base 10000,
// over 64 positions and 32 draws of q and k: the errors that a user must expect far into a sequence. `properties_test
// "rope/hazards*" -s` shows the table.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <vector>

#include "reference/core/counter_random.hpp"
#include "reference/core/dtype.hpp"

using namespace assay;
using core::dtype;

namespace {

constexpr std::size_t width = 128, pairs = width / 2, queries = 64, draws = 32, offset = 10;

/// In which dtype each step of a recipe is rounded.
struct rotary_recipe {
  const char* name;
  dtype position, frequency, angle, table, product, output;
};
constexpr rotary_recipe recipes[] = {
    {"all f32", dtype::f32, dtype::f32, dtype::f32, dtype::f32, dtype::f32, dtype::f32},
    {"bf16 output", dtype::f32, dtype::f32, dtype::f32, dtype::f32, dtype::f32, dtype::bf16},
    {"bf16 table", dtype::f32, dtype::f32, dtype::f32, dtype::bf16, dtype::f32, dtype::bf16},
    {"bf16 positions", dtype::bf16, dtype::f32, dtype::f32, dtype::f32, dtype::f32, dtype::bf16},
    {"all bf16", dtype::bf16, dtype::bf16, dtype::bf16, dtype::bf16, dtype::bf16, dtype::bf16},
    {"all f16", dtype::f16, dtype::f16, dtype::f16, dtype::f16, dtype::f16, dtype::f16},
};

using vector = std::array<double, width>;

vector rotated(const rotary_recipe& r, const vector& x, double position) {
  const double m = core::round_to(r.position, position);
  vector y{};
  for (std::size_t t = 0; t < pairs; ++t) {
    const double theta = core::round_to(r.frequency, std::pow(10000.0, -static_cast<double>(t) / pairs));
    const double angle = core::round_to(r.angle, m * theta);
    const double c = core::round_to(r.table, std::cos(angle)), s = core::round_to(r.table, std::sin(angle));
    const auto product = [&](double a, double b) { return core::round_to(r.product, a * b); };
    y[2 * t] = core::round_to(r.output, product(x[2 * t], c) - product(x[2 * t + 1], s));
    y[2 * t + 1] = core::round_to(r.output, product(x[2 * t], s) + product(x[2 * t + 1], c));
  }
  return y;
}

double score(const vector& q, const vector& k) {
  double sum = 0;
  for (std::size_t i = 0; i < width; ++i) sum += q[i] * k[i];
  return sum / std::sqrt(static_cast<double>(width));
}

// By relative position: q . R_offset k in double, whose own error is below 1e-14.
double exact_score(const vector& q, const vector& k) {
  constexpr rotary_recipe in_double{"", dtype::f64, dtype::f64, dtype::f64, dtype::f64, dtype::f64, dtype::f64};
  return score(q, rotated(in_double, k, static_cast<double>(offset)));
}

double largest_error(const rotary_recipe& r, double start) {
  core::counter_random random(128);
  double largest = 0;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    vector q{}, k{};
    for (double& x : q) x = core::round_to(r.output, random.normal());
    for (double& x : k) x = core::round_to(r.output, random.normal());
    const double exact = exact_score(q, k);
    for (std::size_t i = 0; i < queries; ++i) {
      const double m = start + static_cast<double>(i);
      const double error = std::fabs(score(rotated(r, q, m), rotated(r, k, m + offset)) - exact);
      largest = std::isnan(error) ? error : std::max(largest, error);
    }
  }
  return largest;
}

double in_f32(double x) { return core::round_to(dtype::f32, x); }

// theta_t of d = 64 in f32, in two ways: 1 / base^(2t/d), as most programs have it, and exp(-(2t/d) log base). Every
// step is rounded once.
double by_power(double exponent) { return in_f32(1.0 / in_f32(std::pow(10000.0, exponent))); }
double by_logarithm(double exponent) { return in_f32(std::exp(in_f32(-exponent * in_f32(std::log(10000.0))))); }

/// How far frequencies are off, relatively and in units of roundoff of f32, and the angles at some positions.
struct phase_errors {
  double of_theta = 0, at_2_20 = 0, at_2_23 = 0;
};
phase_errors errors_of(double (*theta)(double exponent)) {
  phase_errors all;
  for (int t = 0; t < 32; ++t) {
    const double exact = std::pow(10000.0, -t / 32.0), computed = theta(t / 32.0);
    const double relative = std::fabs(computed - exact) / exact / core::unit_roundoff(dtype::f32);
    const auto phase_error = [&](double m) { return std::fabs(in_f32(m * computed) - m * exact); };
    all.of_theta = std::max(all.of_theta, relative);
    all.at_2_20 = std::max(all.at_2_20, phase_error(0x1p20));
    all.at_2_23 = std::max(all.at_2_23, phase_error(0x1p23));
    // Two programs may differ by twice that.
    for (const double m : {1000.0, 65535.0, 1048575.0, 16777215.0}) {
      INFO("t = " << t << ", m = " << m);
      CHECK(phase_error(m) <= m * exact * (relative + 1.001) * core::unit_roundoff(dtype::f32));
    }
  }
  return all;
}

}  // namespace

TEST_CASE("rope/hazards/scores_of_the_usual_recipes", "[.hazards]") {
  // Measured independently (another language, other draws): a maximum over draws repeats within a factor of 2 or 3.
  struct row {
    double start;
    std::array<double, 6> expected;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const row rows[] = {
      {0, {1.6e-6, 9.8e-3, 1.6e-2, 1.2e-2, 0.11, 1.2e-2}}, {240, {6.7e-6, 9.5e-3, 1.5e-2, 1.2, 1.4, 9.0e-2}},
      {4000, {1.3e-4, 9.3e-3, 1.4e-2, 2.0, 2.6, 1.7}},     {16000, {5.5e-4, 8.5e-3, 1.4e-2, 2.6, 3.5, 1.9}},
      {131000, {4.0e-3, 8.8e-3, 1.5e-2, 1.8, 2.0, nan}},   {1000000, {2.9e-2, 2.5e-2, 2.9e-2, 2.9, 1.8, nan}}};
  std::string table = fmt::format("{:>8}", "start");
  for (const rotary_recipe& r : recipes) table += fmt::format(" {:>14}", r.name);
  for (const row& expected : rows) {
    table += fmt::format("\n{:>8}", expected.start);
    for (std::size_t k = 0; k < std::size(recipes); ++k) {
      const double error = largest_error(recipes[k], expected.start);
      table += fmt::format(" {:>14.2g}", error);
      INFO(recipes[k].name << " from position " << expected.start << ": " << error << ", elsewhere "
                           << expected.expected[k]);
      if (std::isnan(expected.expected[k])) {
        CHECK(std::isnan(error));  // the position is beyond the largest number of the format
      } else {
        CHECK(error < 2 * expected.expected[k]);
        CHECK(error > expected.expected[k] / 2);
      }
    }
  }
  INFO(table);
  SUCCEED();
}

TEST_CASE("rope/hazards/positions_in_bf16_are_few", "[.hazards]") {
  std::set<double> distinct;
  for (int m = 0; m < 300; ++m) distinct.insert(core::round_to(dtype::bf16, m));
  CHECK(distinct.size() == 279);
  CHECK(core::round_to(dtype::bf16, 15962.0) == 15936.0);  // huggingface/candle#3520
}

TEST_CASE("rope/hazards/phase_by_the_form_of_the_frequencies", "[.hazards]") {
  const auto near = [](const char* what, double found, double elsewhere) {
    INFO(what << ": " << found << ", elsewhere " << elsewhere);
    CHECK(found < 2 * elsewhere);
    CHECK(found > elsewhere / 2);
  };
  const phase_errors power = errors_of(by_power), logarithm = errors_of(by_logarithm);
  near("theta by a power, in u", power.of_theta, 1.2);
  near("theta by exp and log, in u", logarithm.of_theta, 8.2);
  near("the phase at 2^20 by a power", power.at_2_20, 0.011);
  near("the phase at 2^20 by exp and log", logarithm.at_2_20, 0.024);
  near("the phase at 2^23 by a power", power.at_2_23, 0.088);
  near("the phase at 2^23 by exp and log", logarithm.at_2_23, 0.19);
  double apart = 0;
  for (int t = 0; t < 32; ++t) apart = std::max(apart, std::fabs(by_power(t / 32.0) / by_logarithm(t / 32.0) - 1.0));
  near("the two forms apart, in u", apart / core::unit_roundoff(dtype::f32), 9.0);
}
