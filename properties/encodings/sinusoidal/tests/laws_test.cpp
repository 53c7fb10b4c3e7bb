// Statements of Su (2021, kexue.fm/archives/8231) and SHAPE (Kiyono et al. 2021, arXiv 2109.05644) on sinusoidal
// tables: which bilinear forms of rows depend only on distances, what remains of the others after an average over
// offsets, and powers as frequencies.
#include <catch2/catch.hpp>
#include <cmath>

#include "properties/kinds/table.hpp"
#include "reference/core/counter_random.hpp"

using namespace assay;
using namespace assay::properties;

namespace {

using list = std::vector<double>;
constexpr std::size_t width = 6, pairs = width / 2;
constexpr double base = 100.0;

double theta(std::size_t pair) { return std::pow(base, -2.0 * static_cast<double>(pair) / width); }
/// The first rows of the table, with columns as in the paper: the sine of pair i at 2i, its cosine next to it.
list rows(std::size_t count) {
  list positions;
  for (std::size_t m = 0; m < count; ++m) positions.push_back(static_cast<double>(m));
  return table_by_hand("sinusoidal/table", {{"position", positions}},
                       {{"width", static_cast<std::int64_t>(width)}, {"base", base}});
}
/// Random entries of H, [width, width], between -1 and 1.
list drawn() {
  core::counter_random random(1);
  list h(width * width);
  for (double& x : h) x = random.uniform(-1, 1);
  return h;
}
list only(list h, bool (*kept)(std::size_t row, std::size_t column)) {
  for (std::size_t k = 0; k < h.size(); ++k)
    if (!kept(k / width, k % width)) h[k] = 0;
  return h;
}
double form(const list& p, const list& h, std::size_t m, std::size_t n) {
  double sum = 0;
  for (std::size_t j = 0; j < width; ++j)
    for (std::size_t k = 0; k < width; ++k) sum += p[m * width + j] * h[j * width + k] * p[n * width + k];
  return sum;
}
/// The part of the form that depends on m - n, for blocks of H: 1/2 (H_ss + H_cc) cos((m - n) theta) + 1/2 (H_sc -
/// H_cs) sin((m - n) theta).
double relative_part(const list& h, std::size_t m, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    const double angle = (static_cast<double>(m) - static_cast<double>(n)) * theta(i);
    const double* ss = h.data() + 2 * i * width + 2 * i;
    sum += (ss[0] + ss[width + 1]) / 2 * std::cos(angle) + (ss[1] - ss[width]) / 2 * std::sin(angle);
  }
  return sum;
}

}  // namespace

TEST_CASE("sinusoidal/table/bilinear_forms_of_rows", "[property]") {
  const list p = rows(30);
  const list diagonal = only(drawn(), [](std::size_t j, std::size_t k) { return j == k; });
  list commuting = only(drawn(), [](std::size_t j, std::size_t k) { return j == k || (j % 2 == 0 && k == j + 1); });
  for (std::size_t i = 0; i < width; i += 2) {  // blocks (a, c; -c, a)
    commuting[(i + 1) * width + i + 1] = commuting[i * width + i];
    commuting[(i + 1) * width + i] = -commuting[i * width + i + 1];
  }
  double moved = 0;
  for (std::size_t m = 0; m < 10; ++m)
    for (std::size_t n = 0; n < 10; ++n) {
      // With a diagonal H the sum of the positions matters too, with 1/2 (H_cc - H_ss).
      double sum_part = 0;
      for (std::size_t i = 0; i < pairs; ++i)
        sum_part += (diagonal[(2 * i + 1) * (width + 1)] - diagonal[2 * i * (width + 1)]) / 2 *
                    std::cos(static_cast<double>(m + n) * theta(i));
      CHECK(form(p, diagonal, m, n) == Approx(relative_part(diagonal, m, n) + sum_part).margin(1e-14));
      // Blocks that commute with rotations depend only on distances, with their sign.
      CHECK(form(p, commuting, m, n) == Approx(relative_part(commuting, m, n)).margin(1e-14));
      CHECK(form(p, commuting, m + 20, n + 20) == Approx(form(p, commuting, m, n)).margin(1e-13));
      moved = std::max(moved, std::fabs(form(p, diagonal, m + 20, n + 20) - form(p, diagonal, m, n)));
    }
  CHECK(moved > 0.1);
  CHECK(std::fabs(form(p, commuting, 1, 0) - form(p, commuting, 0, 1)) > 0.1);
}

TEST_CASE("sinusoidal/table/averages_over_offsets_are_relative", "[property]") {
  // The mean of cos(k t + phase) over k < K is at most 1 / (K |sin(t / 2)|).
  const list p = rows(1010), h = drawn();
  const auto bound = [&](std::size_t offsets) {
    double sum = 0;
    for (std::size_t j = 0; j < width; ++j)
      for (std::size_t k = 0; k < width; ++k)
        for (const double sign : {1.0, -1.0})
          if (j / 2 != k / 2 || sign > 0)
            sum += std::fabs(h[j * width + k] / std::sin((theta(j / 2) + sign * theta(k / 2)) / 2)) / 2;
    return sum / static_cast<double>(offsets) + 1e-12;
  };
  double worst_of_one = 0, worst_of_all = 0;
  for (std::size_t m = 0; m < 10; ++m)
    for (std::size_t n = 0; n < 10; ++n) {
      double sum = 0;
      for (std::size_t k = 0; k < 1000; ++k) {
        sum += form(p, h, m + k, n + k);
        const double off = std::fabs(sum / static_cast<double>(k + 1) - relative_part(h, m, n));
        if (off > bound(k + 1)) FAIL("the mean of " << k + 1 << " offsets is off by " << off);
        if (k == 0) worst_of_one = std::max(worst_of_one, off);
        if (k == 999) worst_of_all = std::max(worst_of_all, off);
      }
    }
  CHECK(worst_of_one > 1.0);
  CHECK(worst_of_all < 0.05);
}

TEST_CASE("sinusoidal/table/powers_for_frequencies", "[property]") {
  const auto row = [](std::int64_t columns, double alpha, double position) {
    return table_by_hand("sinusoidal/table", {{"position", {position}}},
                         {{"width", columns}, {"rule", std::string("power")}, {"alpha", alpha}});
  };
  CHECK(row(4, 2.0, 2.0) == list{0, 1, std::sin(0.5), std::cos(0.5)});
  CHECK(std::fabs(row(4, 0.5, 2.0)[2] - std::sin(std::sqrt(2.0))) < 1e-15);
  // The mean cosine tends to the integral of cos(50 t^alpha): sin(50) / 50 for t, 0.20808 for t^3.
  const auto mean = [&](double alpha) {
    const list p = row(8192, alpha, 50.0);
    double sum = 0;
    for (std::size_t c = 1; c < p.size(); c += 2) sum += p[c];
    return sum / 4096;
  };
  CHECK(std::fabs(mean(1.0) - std::sin(50.0) / 50.0) < 1e-5);
  CHECK(std::fabs(mean(3.0) - 0.20808) < 1e-5);
}
