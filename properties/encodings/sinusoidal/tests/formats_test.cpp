// What short formats do to sinusoidal tables: to positions, frequencies, angles, stored tables, and to identities that
// hold exactly. Figures: properties_test "[hazards]" -s
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <vector>

#include "properties/encodings/sinusoidal/tests/tables.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;
using namespace assay::properties::encodings::sinusoidal::testing;
using core::dtype;

namespace {

double frequency(std::size_t pair, std::size_t width) {
  return std::pow(usual_base, -static_cast<double>(2 * pair) / static_cast<double>(width));
}

std::size_t distinct_positions(dtype type, std::size_t count) {
  std::set<double> seen;
  for (std::size_t m = 0; m < count; ++m) seen.insert(core::round_to(type, static_cast<double>(m)));
  return seen.size();
}

/// Within a factor of 2 of a published figure: other libraries round elsewhere.
void check_figure(const std::string& what, double found, double expected) {
  INFO(fmt::format("{}: {:.2e}, expected {:.2e}", what, found, expected));
  CHECK(found >= expected / 2);
  CHECK(found <= expected * 2);
}

}  // namespace

TEST_CASE("sinusoidal/table/positions_that_formats_tell_apart", "[.hazards]") {
  // pytorch/pytorch#81926, huggingface/candle#3520, openvinotoolkit/openvino#33214.
  CHECK(distinct_positions(dtype::bf16, 512) == 385);
  CHECK(distinct_positions(dtype::bf16, 2048) == 641);
  CHECK(distinct_positions(dtype::bf16, 4096) == 769);
  CHECK(distinct_positions(dtype::bf16, 8192) == 897);
  CHECK(distinct_positions(dtype::f16, 4096) == 3073);
  CHECK(distinct_positions(dtype::f16, 8192) == 4097);
  CHECK(core::round_to(dtype::bf16, 15962) == 15936);
  CHECK(std::cos(15962.0) == Approx(-0.908).epsilon(1e-3));
  CHECK(std::cos(15936.0) == Approx(-0.268).epsilon(2e-3));
}

TEST_CASE("sinusoidal/table/computed_in_bf16", "[.hazards]") {
  constexpr std::size_t width = 128;
  const auto bf16 = [](double x) { return core::round_to(dtype::bf16, x); };
  double of_frequencies = 0;
  for (std::size_t k = 0; k < width / 2; ++k)
    of_frequencies = std::max(of_frequencies, std::fabs(bf16(frequency(k, width)) / frequency(k, width) - 1));
  INFO("largest relative error of a frequency " << of_frequencies);
  CHECK(of_frequencies == Approx(3.7e-3).epsilon(0.05));

  double error = 0;
  const std::vector<std::pair<int, double>> expected{{10, 0.02}, {100, 0.21}, {257, 0.86}, {1000, 2.0}};
  int m = 0;
  for (const auto& [last, figure] : expected) {
    for (; m <= last; ++m)
      for (std::size_t k = 0; k < width / 2; ++k) {
        const double angle = bf16(bf16(m) * bf16(frequency(k, width))), truth = m * frequency(k, width);
        error = std::max({error, std::fabs(bf16(std::sin(angle)) - std::sin(truth)),
                          std::fabs(bf16(std::cos(angle)) - std::cos(truth))});
      }
    check_figure(fmt::format("angles in bf16, positions to {}", last), error, figure);
  }
}

TEST_CASE("sinusoidal/table/stored_in_bf16", "[property][hazards]") {
  constexpr std::size_t width = 128, count = 4096;
  std::vector<double> positions(count);
  for (std::size_t i = 0; i < count; ++i) positions[i] = static_cast<double>(i);
  const core::tensor p = optimized_table(positions, width);
  std::set<std::vector<double>> rows;
  double error = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> row(width);
    for (std::size_t c = 0; c < width; ++c) {
      row[c] = core::round_to(dtype::bf16, p.values(i, c));
      error = std::max(error, std::fabs(row[c] - p.values(i, c)));
    }
    rows.insert(std::move(row));
  }
  INFO("largest error " << error);
  CHECK(error <= 0x1p-9);  // half a unit of the last place below 1: 2.0e-3
  CHECK(error > 1.9e-3);
  CHECK(rows.size() == count);
}

TEST_CASE("sinusoidal/table/forward_recurrence", "[.hazards]") {
  // p_{m+1} = 2 cos(theta) p_m - p_{m-1} in f64, to m = 10^5.
  const auto error_of = [](double theta) {
    constexpr std::size_t last = 100000;
    const double factor = 2 * std::cos(theta);
    double before = 0, here = std::sin(theta), error = 0;
    for (std::size_t m = 2; m <= last; ++m) {
      const double next = factor * here - before;
      before = here;
      here = next;
      error = std::max(error, std::fabs(here - std::sin(static_cast<double>(m) * theta)));
    }
    return error;
  };
  check_figure("theta = 1", error_of(1.0), 5.7e-12);
  check_figure("theta = 1e-4", error_of(1e-4), 2.1e-8);
}

TEST_CASE("sinusoidal/table/shift_invariance_is_lost_in_f32", "[.hazards]") {
  constexpr std::size_t width = 128, pairs = width / 2, distance = 5, rows = 200;
  double expected_product = 0;
  for (std::size_t k = 0; k < pairs; ++k) expected_product += std::cos(distance * frequency(k, width));
  const auto element = [](double m, std::size_t k, double (*f)(double)) {
    const auto theta = static_cast<float>(1.0 / std::pow(10000.0F, static_cast<float>(2 * k) / width));
    return static_cast<double>(static_cast<float>(f(static_cast<double>(static_cast<float>(m) * theta))));
  };
  const auto sine = [](double x) { return std::sin(x); };
  const auto cosine = [](double x) { return std::cos(x); };
  const std::vector<std::pair<double, double>> expected{
      {0, 2.4e-5}, {1e3, 1.2e-4}, {1e5, 1.3e-2}, {1e6, 8.9e-2}, {1e7, 1.4}};
  for (const auto& [start, figure] : expected) {
    double error = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      float product = 0;
      for (std::size_t k = 0; k < pairs; ++k) {
        const double m = start + static_cast<double>(i), n = m + static_cast<double>(distance);
        product += static_cast<float>(element(m, k, sine) * element(n, k, sine));
        product += static_cast<float>(element(m, k, cosine) * element(n, k, cosine));
      }
      error = std::max(error, std::fabs(static_cast<double>(product) - expected_product));
    }
    check_figure(fmt::format("products of rows {} apart from {}", distance, start), error, figure);
  }
}
