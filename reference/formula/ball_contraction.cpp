#include "reference/formula/ball_contraction.hpp"

#include <cmath>

namespace assay::reference::formula {
namespace {

// The terms of each sum side by side: a row for each place that a sum begins at.
struct rows_of_terms {
  std::vector<double> centre, radius;  ///< no radius where all are exact
  std::vector<std::size_t> row_at;     ///< by place

  rows_of_terms(const reals<double_ball>& x, const contracted_places& places, std::size_t operand)
      : row_at(x.size(), none) {
    const bool is_exact = std::ranges::all_of(x, [](const double_ball& b) { return b.radius == 0.0; });
    std::size_t rows = 0;
    for (const auto& first : places.first) {
      std::size_t& row = row_at[first[operand]];
      if (row != none) continue;
      row = rows++;
      for (const auto& term : places.within) {
        const double_ball& b = x[first[operand] + term[operand]];
        centre.push_back(b.centre);
        if (!is_exact) radius.push_back(b.radius);
      }
    }
  }

 private:
  static constexpr std::size_t none = SIZE_MAX;
};

// In blocks, and four sums side by side in each: few additions one after another make a sum, which keeps its error
// small and hides the latency of an addition.
constexpr std::size_t terms_of_block = 64, sums_of_block = 4;

template <class Term>
double total(std::size_t n, Term term) {
  double sum = 0.0;
  for (std::size_t first = 0; first < n; first += terms_of_block) {
    const std::size_t end = std::min(n, first + terms_of_block);
    std::array<double, sums_of_block> sums{};
    std::size_t k = first;
    for (; k + sums_of_block <= end; k += sums_of_block)
      for (std::size_t lane = 0; lane < sums_of_block; ++lane) sums[lane] += term(k + lane);
    for (std::size_t lane = 0; k < end; ++k, ++lane) sums[lane] += term(k);
    sum += (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  return sum;
}
// A product and so many additions at most lie between a term and the sum.
double roundings_of_a_term(std::size_t n) {
  const auto of_blocks = static_cast<double>((n + terms_of_block - 1) / terms_of_block);
  return 1.0 + static_cast<double>(terms_of_block / sums_of_block) + 2.0 + of_blocks;
}

bool all_finite(const reals<double_ball>& x) {
  return std::ranges::all_of(x, [](const double_ball& b) { return b.is_finite(); });
}

}  // namespace

std::optional<reals<double_ball>> contracted_by_bounds(const reals<double_ball>& x, const reals<double_ball>& y,
                                                       const contracted_places& places, const truths* at) {
  constexpr std::size_t shortest = 8, longest = std::size_t{1} << 20;
  const std::size_t n = places.within.size();
  if (n < shortest || n > longest || !all_finite(x) || !all_finite(y)) return std::nullopt;
  const rows_of_terms left(x, places, 0), right(y, places, 1);
  // The sums, and what the sums of bounds round off themselves; n u < 2^-32.
  const auto terms = static_cast<double>(n);
  const double gamma = (roundings_of_a_term(n) + 2.0) * 0x1p-53, slack = 1.0 + (2.0 * terms + 8.0) * 0x1p-53,
               underflow = (4.0 * terms + 4.0) * 0x1p-1074;
  reals<double_ball> made;
  made.reserve(places.first.size());
  for (const auto& [at_x, at_y] : places.first) {
    if (at != nullptr && bool(!(*at)[made.size()])) {
      made.emplace_back(0.0, 0.0);
      continue;
    }
    const std::size_t begin_x = left.row_at[at_x] * n, begin_y = right.row_at[at_y] * n;
    const double *a = left.centre.data() + begin_x, *b = right.centre.data() + begin_y;
    const double centre = total(n, [=](std::size_t k) { return a[k] * b[k]; });
    double off = gamma * total(n, [=](std::size_t k) { return std::fabs(a[k] * b[k]); });
    const double *r = left.radius.empty() ? nullptr : left.radius.data() + begin_x,
                 *s = right.radius.empty() ? nullptr : right.radius.data() + begin_y;
    if (r != nullptr) off += total(n, [=](std::size_t k) { return std::fabs(b[k]) * r[k]; });
    if (s != nullptr)
      off += total(n, [=](std::size_t k) { return (std::fabs(a[k]) + (r == nullptr ? 0.0 : r[k])) * s[k]; });
    made.emplace_back(centre, off * slack + underflow);
  }
  return made;
}

}  // namespace assay::reference::formula
