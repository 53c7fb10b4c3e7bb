// Functions of whole rows for the operators of programs, in any reading.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "reference/algorithms/attention.hpp"
#include "reference/formula/functions.hpp"

namespace assay::reference::formula {

/// The facts about a row that decide how its exponentials are added up.
struct row_facts {
  bool is_empty = true;    ///< it has nothing but -inf
  bool is_beyond = false;  ///< some term is too large for a double, so no double can be the shift
  /// The first term that is no number; that may be no number or is unbounded; that is infinite. No shift is subtracted
  /// then.
  std::optional<std::size_t> nan{}, unknown{}, infinite{};
};
template <class R>
row_facts facts_of(const std::vector<R>& row) {
  row_facts facts;
  bool has_shift = false;
  std::optional<std::size_t> open_below;
  for (std::size_t k = 0; k < row.size(); ++k) {
    const boost::tribool none = is_no_number(row[k]);
    if (none)
      facts.nan = facts.nan.value_or(k);
    else if (boost::indeterminate(none))
      facts.unknown = facts.unknown.value_or(k);
    else if (is_plus_infinity(row[k]))
      facts.infinite = facts.infinite.value_or(k);
    else if (is_minus_infinity(row[k]))
      continue;
    else if (is_beyond_doubles(row[k]))
      facts.is_beyond = true;
    else if (is_bounded(row[k]))
      has_shift = true;
    else
      (to_double(row[k]) < 0.0 ? open_below : facts.unknown) = k;
    facts.is_empty = false;
  }
  if (!has_shift && !facts.is_beyond && !facts.unknown) facts.unknown = open_below;
  return facts;
}

/// The exponentials of a row less one of its numbers, and that number: the largest as far as the reading can tell.
/// Precondition: the row has a number.
template <class R>
std::pair<std::vector<R>, R> exponentials_below_largest(const std::vector<R>& row) {
  std::optional<std::size_t> largest;
  for (std::size_t k = 0; k < row.size(); ++k)
    if (is_bounded(row[k]) && (!largest || static_cast<bool>(less(row[*largest], row[k])))) largest = k;
  std::vector<R> all;
  for (std::size_t k = 0; k < row.size(); ++k)
    all.push_back(k == *largest ? R(1.0) : is_minus_infinity(row[k]) ? R(0.0) : exp(row[k] - row[*largest]));
  return {std::move(all), row[*largest]};
}
template <class R>
R total_of(const std::vector<R>& row) {
  accumulator<R> sum;
  for (const R& x : row) sum.add(x);
  return sum.total();
}

/// log sum_j exp(S_j) of a row with a key that is not hidden; the shift is exact in every reading.
template <class R>
R log_sum_of_row(const std::vector<R>& logits) {
  double shift = -std::numeric_limits<double>::infinity();
  for (const R& s : logits)
    if (const double x = to_double(s); x > shift || std::isnan(x)) shift = x;
  accumulator<R> sum;
  for (const R& s : logits)
    if (!is_minus_infinity(s)) sum.add(exp(s - R(shift)));
  return R(shift) + log(sum.total());
}

/// log sum exp of a row; -inf for an empty row.
template <class R>
R log_sum_exp_of(const std::vector<R>& row) {
  const row_facts facts = facts_of(row);
  if (facts.nan) return row[*facts.nan];
  if (facts.unknown) return row[*facts.unknown] - row[*facts.unknown];
  if (facts.infinite) return row[*facts.infinite];
  if (facts.is_empty) return R(-std::numeric_limits<double>::infinity());
  if (!facts.is_beyond) return log_sum_of_row(row);
  const auto [below, largest] = exponentials_below_largest(row);
  return largest + log(total_of(below));
}

/// 1 / k for each of the k largest of a row, 0 for all others; NaN for all where one is no number. Two elements with
/// equal enclosures are not proved to be equal, but each element equals itself.
template <class R>
std::vector<R> shares_of_largest(const std::vector<R>& row) {
  boost::tribool has_nan = false;
  for (const R& x : row) has_nan = has_nan || is_no_number(x);
  const auto nearest =
      std::max_element(row.begin(), row.end(), [](const R& x, const R& y) { return to_double(x) < to_double(y); });
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < row.size(); ++i)
    if (!bool(less(row[i], *nearest))) candidates.push_back(i);
  const R none = either(has_nan, R(std::numeric_limits<double>::quiet_NaN()), R(0.0));
  const auto one_of = [](int ties) { return reference::from_integer<R>(1.0) / reference::from_integer<R>(ties); };
  std::vector<R> shares(row.size(), none);
  if (bool(has_nan)) return shares;
  for (const std::size_t i : candidates) {
    boost::tribool is_largest = true;
    int fewest = 1, most = 1;
    for (const std::size_t j : candidates) {
      if (j == i) continue;
      const boost::tribool differs = less(row[i], row[j]) || less(row[j], row[i]);
      is_largest = is_largest && !less(row[i], row[j]);
      fewest += bool(!differs) ? 1 : 0;
      most += bool(differs) ? 0 : 1;
    }
    const R share =
        most == 1 ? R(1.0)
                  : either(fewest == most ? boost::tribool(true) : boost::indeterminate, one_of(fewest), one_of(most));
    shares[i] = either(has_nan, none, either(is_largest, share, R(0.0)));
  }
  return shares;
}

/// e^x divided by their sum. A row that is -inf everywhere has no softmax, and neither has a row with NaN or infinity.
template <class R>
std::vector<R> softmax_of(const std::vector<R>& row) {
  const row_facts facts = facts_of(row);
  if (facts.nan || facts.infinite || facts.is_empty)
    return std::vector<R>(row.size(), R(std::numeric_limits<double>::quiet_NaN()));
  if (facts.unknown) return std::vector<R>(row.size(), row[*facts.unknown] - row[*facts.unknown]);
  if (!facts.is_beyond) return softmax(row);
  std::vector<R> weights = exponentials_below_largest(row).first;
  const R total = total_of(weights);
  for (R& x : weights) x = x / total;
  return weights;
}

/// Row by row, x less its element with the largest weight, which becomes 0: the distance of each element from the
/// weighted mean stays the same. Where one key has nearly all the weight, its element and the mean agree in all digits
/// but the last ones, which proofs need to keep. Readings that round keep x.
template <class R>
std::vector<R> less_heaviest(std::vector<R> x, const std::vector<R>& weights, const rows_along& rows) {
  if constexpr (computes_in_formats<R>) return x;
  for (std::size_t r = 0; r < rows.count; ++r) {
    const auto index = [&](std::size_t i) { return rows.first(r) + i * rows.step; };
    std::size_t heaviest = 0;
    for (std::size_t i = 1; i < rows.size; ++i)
      if (to_double(weights[index(i)]) > to_double(weights[index(heaviest)])) heaviest = i;
    if (rows.size == 0 || !std::isfinite(to_double(x[index(heaviest)]))) continue;
    const R subtracted = x[index(heaviest)];
    for (std::size_t i = 0; i < rows.size; ++i) x[index(i)] = i == heaviest ? R(0.0) : x[index(i)] - subtracted;
  }
  return x;
}

}  // namespace assay::reference::formula
