// Sums up to each place of a row, S_i = x_0 + ... + x_i, and their largest errors.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/readings/tracked.hpp"

namespace assay::reference {

inline bool is_exact_zero(const tracked& x) { return x.number == 0.0 && x.error == 0.0; }

template <class R>
std::vector<R> cumulative_sums(const std::vector<R>& x) {
  std::vector<R> all;
  accumulator<R> sum;
  all.reserve(x.size());
  for (const R& term : x) {
    sum.add(term);
    all.push_back(sum.total());
  }
  return all;
}
/// S_i as the sum of all terms less the sum of the terms after i. The result is NaN beside an infinite term.
template <class R>
std::vector<R> cumulative_sums_by_rest(const std::vector<R>& x) {
  std::vector<R> behind{R(0.0)};
  for (std::size_t i = x.size(); i-- > 0;) behind.push_back(behind.back() + x[i]);
  std::vector<R> all;
  for (std::size_t i = 0; i < x.size(); ++i) all.push_back(behind.back() - behind[x.size() - 1 - i]);
  return all;
}
/// S_i from the sum of all terms, by subtracting the terms after i one after the other. Autograd computes the gradient
/// of a cumsum in this way.
template <class R>
std::vector<R> cumulative_sums_from_total(const std::vector<R>& x) {
  std::vector<R> all(x.size());
  accumulator<R> sum;
  for (const R& term : x) sum.add(term);
  for (std::size_t i = x.size(); i-- > 0;) {
    all[i] = sum.total();
    sum.add(-x[i]);
  }
  return all;
}

/// The errors of sums that end at `sum`: inherited errors, and roundings with these magnitudes, in units of u.
inline tracked rounded_sum(double sum, double inherited, double magnitudes, double additions) {
  const double unit_of_sums = arithmetic_of_sums().u;
  if (unit_of_sums == tracked::u()) return {sum, inherited + magnitudes};
  return {sum, inherited + magnitudes * (unit_of_sums / tracked::u()) + additions * tracked::underflow_of_sums() +
                   finite_magnitude(sum)};
}

/// Charges the magnitudes of the partial sums from the first term on, or from the last term on, whichever add up to
/// more. Both together are at least the number of additions times the sum, so that a slack of 2 covers every order
/// (Higham 2002, section 4.2). Terms count by magnitude, and an exact zero is no term.
template <>
inline std::vector<tracked> cumulative_sums(const std::vector<tracked>& x) {
  std::vector<tracked> all;
  double sum = 0, magnitudes = 0, inherited = 0, from_first = 0, from_last = 0, before = 0, terms = 0;
  for (const tracked& term : x) {
    if (!is_exact_zero(term)) {
      const double magnitude = finite_magnitude(term.number);
      sum += term.number, magnitudes += magnitude, inherited += term.error;
      if (terms > 0) from_first += magnitudes, from_last += before + terms * magnitude;
      before = magnitude, ++terms;
    }
    all.push_back(rounded_sum(sum, inherited, std::max(from_first, from_last), std::max(terms - 1.0, 0.0)));
  }
  return all;
}
/// Both sums share the roundings of the additions after i if terms are added one after the other, and share none if
/// they are added by blocks. The larger of both counts.
template <>
inline std::vector<tracked> cumulative_sums_by_rest(const std::vector<tracked>& x) {
  if (!std::ranges::all_of(x, [](const tracked& term) { return std::isfinite(term.number); }))
    return cumulative_sums(x);
  const std::size_t n = x.size();
  std::vector<double> behind(n + 1, 0.0);  // the sums of magnitudes from each place on
  double terms = 0;
  for (std::size_t i = n; i-- > 0;) {
    behind[i] = behind[i + 1] + finite_magnitude(x[i].number);
    if (!is_exact_zero(x[i])) ++terms;
  }
  const double depth = std::ceil(std::log2(terms + 1.0));
  std::vector<tracked> all;
  double sum = 0, inherited = 0, one_by_one = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += x[i].number, inherited += x[i].error;
    if (!is_exact_zero(x[i])) one_by_one += behind[i];
    const double by_blocks = depth * (behind[0] + behind[i + 1]);
    all.push_back(rounded_sum(sum, inherited, std::max(one_by_one, by_blocks) + finite_magnitude(sum), terms + 1.0));
  }
  return all;
}

/// The sum of all terms in any order, and one rounding of each difference, which is no larger than the remaining sum.
template <>
inline std::vector<tracked> cumulative_sums_from_total(const std::vector<tracked>& x) {
  std::vector<tracked> all = x;
  double sum = 0, terms = 0, differences = 0, behind = 0, inherited = 0;
  for (tracked& term : all) {
    if (!is_exact_zero(term)) sum += term.number, inherited += term.error, ++terms;
    term.number = sum;
  }
  const double additions = std::max(terms - 1.0, 0.0), error_of_total = additions * finite_magnitude(sum);
  for (std::size_t i = all.size(); i-- > 0;) {
    all[i] = rounded_sum(all[i].number, inherited, error_of_total + differences, additions + behind);
    if (is_exact_zero(x[i])) continue;
    inherited += x[i].error, ++behind;
    if (i > 0) differences += finite_magnitude(all[i - 1].number);
  }
  return all;
}

/// x_0 - y_0 + x_1 - y_1 + ..., one after the other.
template <class R>
class cumulative_difference {
 public:
  R with(const R& x, const R& y) { return sum_ = sum_ + (x - y); }

 private:
  R sum_{0.0};
};
/// The roundings of x - y, and one of each cumulative sum, by the part that does not cancel.
template <>
class cumulative_difference<tracked> {
 public:
  tracked with(const tracked& x, const tracked& y) {
    sum_ += x.number - y.number, inherited_ += x.error + y.error, additions_ += 2.0;
    roundings_ += finite_magnitude(x.number) + finite_magnitude(y.number) + finite_magnitude(sum_);
    return rounded_sum(sum_, inherited_, roundings_, additions_);
  }

 private:
  double sum_ = 0, inherited_ = 0, roundings_ = 0, additions_ = 0;
};

}  // namespace assay::reference
