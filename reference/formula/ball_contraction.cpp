#include "reference/formula/ball_contraction.hpp"

#include <cmath>

namespace assay::reference::formula {
namespace {

// The terms of each sum side by side: a row for each place where a sum begins.
struct rows_of_terms {
  std::vector<double> high, low, radius;
  std::vector<std::size_t> row_at;  ///< by place

  template <class Number>
  rows_of_terms(const reals<ball<Number>>& x, const contracted_places& places, std::size_t operand)
      : row_at(x.size(), none) {
    std::size_t rows = 0;
    for (const auto& first : places.first) {
      std::size_t& row = row_at[first[operand]];
      if (row != none) continue;
      row = rows++;
      for (const auto& term : places.within) {
        const auto& b = x[first[operand] + term[operand]];
        high.push_back(leading(b.centre));
        low.push_back(trailing(b.centre));
        radius.push_back(b.radius);
      }
      const auto any = [&](const std::vector<double>& part) {
        return std::any_of(part.end() - static_cast<std::ptrdiff_t>(places.within.size()), part.end(),
                           [](double z) { return z != 0.0; });
      };
      has_.push_back({any(low), any(radius)});
    }
  }

  /// The row of terms for a sum that begins at a place; null where all low parts, or all radii, are 0.
  struct terms {
    const double *high, *low, *radius;
  };
  [[nodiscard]] terms row_of_terms(std::size_t place, std::size_t n) const {
    const std::size_t row = row_at[place], begin = row * n;
    return {high.data() + begin, has_[row].low ? low.data() + begin : nullptr,
            has_[row].radius ? radius.data() + begin : nullptr};
  }

 private:
  static constexpr std::size_t none = SIZE_MAX;
  struct parts {
    bool low, radius;
  };
  std::vector<parts> has_{};  // by row
};

// Sums go by blocks, with four sums side by side in each block: then few additions follow one another, which keeps the
// error small and hides the latency of an addition.
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
// The roundings of a term: a product and at most this number of additions.
double roundings_of_a_term(std::size_t n) {
  const auto blocks = static_cast<double>((n + terms_of_block - 1) / terms_of_block);
  return 1.0 + static_cast<double>(terms_of_block / sums_of_block) + 2.0 + blocks;
}

using terms = rows_of_terms::terms;

/// The sum of the centres' products. The roundings of n terms are not yet included in its bound.
template <class Number>
bounded<Number> sum_of_centres(std::size_t n, const terms& x, const terms& y);

template <>
bounded<double> sum_of_centres(std::size_t n, const terms& x, const terms& y) {
  const double gamma = (roundings_of_a_term(n) + 2.0) * 0x1p-53;
  const double *a = x.high, *b = y.high;
  return {total(n, [=](std::size_t k) { return a[k] * b[k]; }),
          gamma * total(n, [=](std::size_t k) { return std::fabs(a[k] * b[k]); }) + static_cast<double>(n) * 0x1p-1074};
}

// Sums in two doubles, side by side. The rounding errors of the high parts go into the low parts, and the rounding
// errors of the low parts are the error.
struct sums_in_two_doubles {
  std::array<double, sums_of_block> high{}, low{}, off{};

  void add(std::size_t lane, double x, double rest) {
    const exact_sum h(high[lane], x), high_sum(low[lane], h.error), rest_sum(high_sum.sum, rest);
    high[lane] = h.sum;
    low[lane] = rest_sum.sum;
    off[lane] += std::fabs(high_sum.error) + std::fabs(rest_sum.error);
  }
  [[nodiscard]] bounded<two_double> total() {
    for (std::size_t lane = 1; lane < sums_of_block; ++lane) {
      off[0] += off[lane];
      add(0, high[lane], low[lane]);
    }
    return {two_double(exact_sum(high[0], low[0])), off[0]};
  }
};

// The low part of a product and its bound are those of two_double.hpp. The bound here is 16 u^2 |p| instead of 9 u^2
// |p|: it also covers cross terms that underflow where p does not.
template <bool HasLow>
bounded<two_double> sum_in_two_doubles(std::size_t n, const terms& x, const terms& y) {
  const double *a = x.high, *b = y.high;
  const auto cross = [&](std::size_t k) {
    return (y.low == nullptr ? 0.0 : a[k] * y.low[k]) + (x.low == nullptr ? 0.0 : x.low[k] * b[k]);
  };
  sums_in_two_doubles sums;
  const auto add = [&](std::size_t lane, std::size_t k) {
    const exact_product p(a[k], b[k]);
    const double rest = a[k] == 0.0 || b[k] == 0.0 ? 0.0 : p.error;  // a huge number cannot be split into halves
    sums.add(lane, p.product, HasLow ? rest + cross(k) : rest);
  };
  std::size_t k = 0;
  for (; k + sums_of_block <= n; k += sums_of_block)
    for (std::size_t lane = 0; lane < sums_of_block; ++lane) add(lane, k + lane);
  for (std::size_t lane = 0; k < n; ++k, ++lane) add(lane, k);
  bounded<two_double> made = sums.total();
  if constexpr (HasLow) made.error += 0x1p-102 * total(n, [=](std::size_t t) { return std::fabs(a[t] * b[t]); });
  made.error += total(n, [=](std::size_t t) {
    return std::fabs(a[t] * b[t]) < 0x1p-960 && a[t] != 0.0 && b[t] != 0.0 ? 0x1p-1060 : 0.0;
  });
  return made;
}
template <>
bounded<two_double> sum_of_centres(std::size_t n, const terms& x, const terms& y) {
  return x.low == nullptr && y.low == nullptr ? sum_in_two_doubles<false>(n, x, y) : sum_in_two_doubles<true>(n, x, y);
}

/// The change of the sum by the radii of the terms; |x| counts as |x_high| plus the low part.
double inherited(std::size_t n, const terms& x, const terms& y) {
  const double *a = x.high, *b = y.high, *r = x.radius, *s = y.radius;
  double off = 0.0;
  if (r != nullptr) off += total(n, [=](std::size_t k) { return std::fabs(b[k]) * r[k]; });
  if (s != nullptr)
    off += total(n, [=](std::size_t k) { return (std::fabs(a[k]) + (r == nullptr ? 0.0 : r[k])) * s[k]; });
  return off;
}

}  // namespace

template <class Number>
std::optional<reals<ball<Number>>> contracted_by_bounds(const reals<ball<Number>>& x, const reals<ball<Number>>& y,
                                                        const contracted_places& places, const truths* mask) {
  constexpr std::size_t shortest = 8, longest = std::size_t{1} << 20;
  const std::size_t n = places.within.size();
  const auto all_finite = [](const auto& z) {
    return std::ranges::all_of(z, [](const auto& b) { return b.is_finite(); });
  };
  if (n < shortest || n > longest || !all_finite(x) || !all_finite(y)) return std::nullopt;
  const rows_of_terms left(x, places, 0), right(y, places, 1);
  // The rounding of the sums of bounds themselves; n u < 2^-32.
  const auto count = static_cast<double>(n);
  const double slack = 1.0 + (4.0 * count + 16.0) * 0x1p-53, underflow = (4.0 * count + 4.0) * 0x1p-1074;
  reals<ball<Number>> made;
  made.reserve(places.first.size());
  for (const auto& [place_in_x, place_in_y] : places.first) {
    if (mask != nullptr && bool(!(*mask)[made.size()])) {
      made.emplace_back(0.0);
      continue;
    }
    const terms a = left.row_of_terms(place_in_x, n), b = right.row_of_terms(place_in_y, n);
    const bounded<Number> sum = sum_of_centres<Number>(n, a, b);
    const double off = sum.error + inherited(n, a, b);
    // Products with radii may underflow to 0.
    const bool is_exact = off == 0.0 && a.radius == nullptr && b.radius == nullptr;
    made.emplace_back(sum.value, is_exact ? 0.0 : off * slack + underflow);
  }
  return made;
}
template std::optional<reals<double_ball>> contracted_by_bounds(const reals<double_ball>&, const reals<double_ball>&,
                                                                const contracted_places&, const truths*);
template std::optional<reals<two_double_ball>> contracted_by_bounds(const reals<two_double_ball>&,
                                                                    const reals<two_double_ball>&,
                                                                    const contracted_places&, const truths*);

}  // namespace assay::reference::formula
