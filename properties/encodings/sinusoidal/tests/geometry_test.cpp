// What sinusoidal tables and Su's curve of decay are like: distances of rows, sums that do not decay, the forms that
// keep relative positions, and the curve as an integral, as a logarithm, as a limit of tables. Figures: -s
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "properties/encodings/sinusoidal/tests/tables.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;
using namespace assay::properties::encodings::sinusoidal::testing;

namespace {

/// Proved, each rounded once.
core::tensor certified_table(const std::vector<double>& positions, std::size_t width) {
  return reference::certify(table_call(core::dtype::f64, positions, width)).at("p").rounded;
}
double product_of_rows(const core::tensor& p, std::size_t i, std::size_t j) {
  double sum = 0;
  for (std::size_t c = 0; c < p.shape()[1]; ++c) sum += p.values(i, c) * p.values(j, c);
  return sum;
}
double squared_distance(const core::tensor& p, std::size_t i, std::size_t j) {
  double sum = 0;
  for (std::size_t c = 0; c < p.shape()[1]; ++c) sum += std::pow(p.values(i, c) - p.values(j, c), 2);
  return sum;
}

std::vector<double> certified_decay(const std::vector<double>& s) {
  const auto outputs = reference::certify({reference::find_operation("sinusoidal/decay"),
                                           core::dtype::f64,
                                           {{"s", core::make_tensor(core::dtype::f64, {s.size()}, s)}},
                                           {{"base", usual_base}}});
  const auto& g = outputs.at("g").rounded.values.storage();
  return {g.begin(), g.end()};
}

std::vector<double> consecutive(std::size_t count) {
  std::vector<double> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<double>(i);
  return all;
}

}  // namespace

TEST_CASE("sinusoidal/table/rows_nearly_repeat_and_never_do", "[property][sinusoidal]") {
  // Twice pi's convergent: 2 pi 49766 is nearest to 312689; of four frequencies 169646 comes nearest below 10^6.
  CHECK(squared_distance(certified_table({0, 312689}, 2), 0, 1) == Approx(8.4e-12).epsilon(0.01));
  CHECK(squared_distance(certified_table({0, 169646}, 8), 0, 1) == Approx(1.1e-5).epsilon(0.05));

  const std::size_t count = 20000;
  const core::tensor p = optimized_table(consecutive(count), 2);
  std::vector<std::pair<double, double>> rows;
  for (std::size_t i = 0; i < count; ++i) rows.emplace_back(p.values(i, 0), p.values(i, 1));
  std::sort(rows.begin(), rows.end());
  CHECK(std::adjacent_find(rows.begin(), rows.end()) == rows.end());
}

TEST_CASE("sinusoidal/table/products_do_not_decay", "[property][sinusoidal]") {
  // The mean of a square is d/4 for good: only the integral tends to 0.
  constexpr std::size_t width = 16;
  core::counter_random random(seed);
  std::vector<double> s(scaled(200000));
  for (double& x : s) x = std::floor(random.uniform(1e6, 1e9));
  const core::tensor p = optimized_table(s, width);
  double squares = 0, largest = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    double product = 0;  // with the row of 0, whose sines are 0 and whose cosines are 1
    for (std::size_t c = 1; c < width; c += 2) product += p.values(i, c);
    squares += product * product;
    largest = std::max(largest, product);
  }
  INFO("root of the mean square " << std::sqrt(squares / static_cast<double>(s.size())) << ", largest " << largest);
  CHECK(std::sqrt(squares / static_cast<double>(s.size())) == Approx(std::sqrt(width / 4.0)).epsilon(0.02));
  CHECK(largest > 7.0);
  CHECK(largest < 8.0);
}

TEST_CASE("sinusoidal/table/forms_that_keep_relative_positions", "[property][sinusoidal]") {
  // p_m^T H p_n with blocks [[a, c], [-c, a]] is the sum of a cos(x) -+ c sin(x), x = (m - n) theta, the cosine first
  // or the sine; with diagonal blocks cos((m + n) theta) enters with half the difference of the two entries.
  constexpr std::size_t width = 16, pairs = width / 2, trials = 200;
  core::counter_random random(seed);
  for (const char* first : {"cosine", "sine"}) {
    const bool sine_first = first[0] == 's';
    double moved = 0;
    for (std::size_t k = 0; k < trials; ++k) {
      const double m = std::floor(random.uniform(0.0, 1e6)), n = std::floor(random.uniform(0.0, 1e6));
      const core::tensor p = optimized_table({m, n, m - n, m + n, m + 1000, n + 1000}, width, first);
      const auto one = [&](std::size_t row, std::size_t t) { return p.values(row, 2 * t); };
      const auto other = [&](std::size_t row, std::size_t t) { return p.values(row, 2 * t + 1); };
      const auto cosine = [&](std::size_t row, std::size_t t) { return sine_first ? other(row, t) : one(row, t); };
      const auto sine = [&](std::size_t row, std::size_t t) { return sine_first ? one(row, t) : other(row, t); };
      double form = 0, shifted = 0, expected = 0, diagonal = 0, diagonal_shifted = 0, diagonal_expected = 0, size = 0;
      for (std::size_t t = 0; t < pairs; ++t) {
        const double a = random.normal(), c = random.normal();
        const auto rotated = [&](std::size_t i, std::size_t j) {
          return a * (one(i, t) * one(j, t) + other(i, t) * other(j, t)) +
                 c * (one(i, t) * other(j, t) - other(i, t) * one(j, t));
        };
        const auto scaled_apart = [&](std::size_t i, std::size_t j) {
          return a * one(i, t) * one(j, t) + c * other(i, t) * other(j, t);
        };
        form += rotated(0, 1);
        shifted += rotated(4, 5);
        expected += a * cosine(2, t) + (sine_first ? c : -c) * sine(2, t);
        diagonal += scaled_apart(0, 1);
        diagonal_shifted += scaled_apart(4, 5);
        diagonal_expected += (a + c) / 2 * cosine(2, t) + (sine_first ? c - a : a - c) / 2 * cosine(3, t);
        size += std::fabs(a) + std::fabs(c);
      }
      // Each element is within 2^-52, and so are the roundings of the products and sums.
      const double allowed = (8 + pairs) * size * 0x1p-52;
      INFO(first << " first, m = " << m << ", n = " << n);
      CHECK(std::fabs(form - expected) <= allowed);
      CHECK(std::fabs(shifted - form) <= allowed);
      CHECK(std::fabs(diagonal - diagonal_expected) <= allowed);
      moved = std::max(moved, std::fabs(diagonal_shifted - diagonal));
    }
    CHECK(moved > 1.0);  // a diagonal form with two different entries is no function of m - n
  }
}

TEST_CASE("sinusoidal/decay/closed_form_is_the_integral", "[property][sinusoidal]") {
  const std::vector<double> s{0.5, 50, 1000};
  const std::vector<double> closed = certified_decay(s);
  constexpr std::size_t steps = std::size_t{1} << 20;  // Simpson's error: (s ln b / steps)^4 / 180 < 10^-10
  for (std::size_t k = 0; k < s.size(); ++k) {
    const auto f = [&](std::size_t i) {
      return std::cos(s[k] * std::pow(usual_base, -static_cast<double>(i) / static_cast<double>(steps)));
    };
    double sum = f(0) + f(steps);
    for (std::size_t i = 1; i < steps; ++i) sum += (i % 2 == 1 ? 4 : 2) * f(i);
    INFO("s = " << s[k]);
    CHECK(std::fabs(sum / (3.0 * static_cast<double>(steps)) - closed[k]) < 1e-10);
  }
}

TEST_CASE("sinusoidal/decay/window_and_tail", "[property][sinusoidal]") {
  const std::vector<double> s{50, 1000, 1e5};
  const std::vector<double> decay = certified_decay(s);
  CHECK(decay[0] == Approx(0.51198).epsilon(1e-5));
  CHECK(decay[1] == Approx(0.18769).epsilon(3e-5));
  // Inside 1 << s << b it is 1 - (log s + gamma) / log b.
  const auto window = [](double x) { return 1.0 - (std::log(x) + std::numbers::egamma) / std::log(usual_base); };
  CHECK(window(s[0]) == Approx(0.51259).epsilon(1e-5));
  CHECK(window(s[1]) == Approx(0.18733).epsilon(3e-5));
  // Beyond it stays below b / (s log b).
  CHECK(std::fabs(decay[2]) == Approx(4.9e-3).epsilon(0.02));
  CHECK(usual_base / (s[2] * std::log(usual_base)) == Approx(1.09e-2).epsilon(0.01));
}

TEST_CASE("sinusoidal/decay/tables_are_its_left_sums", "[property][sinusoidal]") {
  // (2/d) <p_s, p_0> is the sum of cos(s b^-t) at t = 0, h, 2h, ..., h = 2/d: the trapezoidal rule and h/2 times the
  // difference of the ends. The rule errs by at most h^2/8 times the integral of |f''|, that by log b (s + s^2/2).
  for (const std::size_t width : {std::size_t{128}, std::size_t{1024}}) {
    const auto d = static_cast<double>(width);
    const auto resolved = static_cast<std::size_t>(std::numbers::pi * d / (2 * std::log(usual_base)));
    const std::vector<double> s = consecutive(resolved + 1), decay = certified_decay(s);
    const core::tensor p = certified_table(s, width);
    double largest_share = 0;
    for (std::size_t i = 0; i < s.size(); ++i) {
      const double sum = 2 / d * product_of_rows(p, i, 0), ends = (std::cos(s[i]) - std::cos(s[i] / usual_base)) / d;
      const double allowed = (4 / (d * d)) / 8 * std::log(usual_base) * (s[i] + s[i] * s[i] / 2) + 0x1p-45;
      INFO("d = " << width << ", s = " << s[i]);
      CHECK(std::fabs(sum - decay[i] - ends) <= allowed);
      largest_share = std::max(largest_share, std::fabs(sum - decay[i] - ends) / allowed);
    }
    INFO("largest error / bound " << largest_share);
    CHECK(largest_share > 0.01);
  }
  // Where phases of neighbours are further apart the sum goes its own way.
  CHECK(2.0 / 128 * product_of_rows(certified_table({0, 50}, 128), 0, 1) == Approx(0.5462).epsilon(1e-4));
}
