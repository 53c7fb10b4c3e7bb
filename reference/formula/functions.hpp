// What the operators of programs are in any reading, number by number.
#pragma once

#include <cmath>
#include <optional>
#include <utility>

#include "reference/algorithms/attention.hpp"
#include "reference/algorithms/kinks.hpp"
#include "reference/formula/arrays.hpp"
#include "reference/primitives/all.hpp"
#include "reference/primitives/constants.hpp"
#include "reference/primitives/hyperbolic.hpp"

namespace assay::reference::formula {

/// Indeterminate where a reading cannot tell.
template <class R>
boost::tribool is_no_number(const R& x) {
  if constexpr (carries_derivatives<R>) {
    return is_no_number(x.number);
  } else if constexpr (std::is_same_v<R, tracked>) {
    if (std::isnan(x.number)) return true;
    return std::isnan(x.error) ? boost::tribool(boost::indeterminate) : boost::tribool(false);
  } else if constexpr (requires { x.is_unknown(); }) {
    return x.is_unknown() ? boost::tribool(boost::indeterminate) : boost::tribool(x.is_nan());
  } else {
    return std::isnan(to_double(x));
  }
}

template <class R>
boost::tribool are_numbers(const R& x, const R& y) {
  return !is_no_number(x) && !is_no_number(y);
}

template <class R>
boost::tribool compared(op what, const R& x, const R& y) {
  switch (what) {
    case op::less:
      return less(x, y);
    case op::less_equal:
      return !less(y, x) && are_numbers(x, y);
    default:
      return !less(x, y) && !less(y, x) && are_numbers(x, y);
  }
}
template <>
inline boost::tribool compared(op what, const std::int64_t& x, const std::int64_t& y) {
  return what == op::less ? x < y : what == op::less_equal ? x <= y : x == y;
}

template <class R>
R smaller(const R& x, const R& y) {
  return -larger(-x, -y);
}

/// Whether a number may have been computed at the end of a domain or below, though it is not known to lie there.
template <class R>
bool may_reach(const R& x, double end) {
  if constexpr (std::is_same_v<R, tracked>)
    return x.error != 0.0 && !(x.number - end > tracked::u() * x.error);
  else
    return false;
}
template <class R>
bool is_exact_integer(const R& x) {
  if constexpr (std::is_same_v<R, tracked>)
    return x.error == 0.0 && std::floor(x.number) == x.number;
  else
    return true;
}
/// r, which may be no number.
template <class R>
R beyond_domain(bool may_be, const R& r) {
  if constexpr (std::is_same_v<R, tracked>)
    return may_be ? tracked(r.number, std::numeric_limits<double>::quiet_NaN()) : r;
  else
    return r;
}

template <class R>
R function_of(const node& n, const R& x) {
  switch (n.what) {
    case op::negative:
      return -x;
    case op::magnitude:
      return magnitude_of(x);
    case op::exp:
      return exp(x);
    case op::log:
      return beyond_domain(may_reach(x, 0.0), log(x));
    case op::log1p:
      return beyond_domain(may_reach(x, -1.0), log1p(x));
    case op::sin:
      return sin(x);
    case op::cos:
      return cos(x);
    case op::tanh:
      return tanh(x);
    case op::sigmoid:
      return sigmoid(x);
    case op::softplus:
      return softplus(x);
    case op::log_sigmoid:
      return log_sigmoid(x);
    case op::floor:
      return floor(x);
    case op::power:
      return beyond_domain(n.integer(1) > 1 && may_reach(x, 0.0), power(x, {n.integer(0), n.integer(1)}));
    default:
      ASSAY_EXPECTS(n.what == op::detach);
      if constexpr (carries_derivatives<R>)
        return R(x.number);
      else
        return x;
  }
}

template <class R>
R function_of(const node& n, const R& x, const R& y) {
  switch (n.what) {
    case op::add:
      return x + y;
    case op::subtract:
      return x - y;
    case op::multiply:
      return x * y;
    case op::divide:
      return quotient_of_any(x, y);
    case op::maximum:
      return larger(x, y);
    case op::minimum:
      return smaller(x, y);
    case op::pow:
      return beyond_domain(may_reach(x, 0.0) && !is_exact_integer(y), pow(x, y));
    default:
      ASSAY_EXPECTS(n.what == op::log_add_exp);
      return log_sum_exp(x, y);
  }
}

/// A leaf that is no input.
template <class R>
R constant(const node& n) {
  const auto integer = [](std::int64_t x) { return reference::from_integer<R>(static_cast<double>(x)); };
  switch (n.what) {
    case op::fraction:
      return n.integer(1) == 1 ? integer(n.integer(0)) : integer(n.integer(0)) / integer(n.integer(1));
    case op::pi:
      return pi<R>();
    default:
      if constexpr (requires { R::from_double(n.number); })
        return R::from_double(n.number);
      else
        return R(n.number);
  }
}

/// Whatever a reading does not know of it.
template <class R>
bool is_plus_infinity(const R& x) {
  if constexpr (carries_derivatives<R>)
    return is_plus_infinity(x.number);
  else if constexpr (requires { x.is_infinite(); })
    return x.is_infinite() && to_double(x) > 0.0;
  else
    return std::isinf(to_double(x)) && to_double(x) > 0.0;
}
/// A number for certain, and whether it is one that no double is near to.
template <class R>
bool is_bounded(const R& x) {
  if constexpr (carries_derivatives<R>)
    return is_bounded(x.number);
  else if constexpr (requires { x.is_finite(); })
    return x.is_finite();
  else
    return std::isfinite(to_double(x));
}
/// An exact zero, which rounds nothing where it is added: what a mask hides is no term.
template <class R>
bool adds_nothing(const R& x) {
  if constexpr (std::is_same_v<R, tracked>)
    return x.number == 0.0 && x.error == 0.0;
  else if constexpr (requires { x.is_exact_zero(); })
    return x.is_exact_zero();
  else if constexpr (requires { x.is_zero(); })
    return x.is_zero();
  else
    return false;
}
template <class R>
bool adds_nothing(const R& x, const R& y) {
  const auto is_finite = [](const R& z) {
    if constexpr (std::is_same_v<R, tracked>)
      return std::isfinite(z.number) && std::isfinite(z.error);
    else
      return is_bounded(z);
  };
  return (adds_nothing(x) && is_finite(y)) || (adds_nothing(y) && is_finite(x));
}

template <class R>
bool is_beyond_doubles(const R& x) {
  return is_bounded(x) && std::isinf(to_double(x));
}

/// What of a row decides how its exponentials are added up.
struct row_facts {
  bool is_empty = true;    ///< of nothing but -inf
  bool is_beyond = false;  ///< some term is no double, and no double can be the shift of the others
  /// The first term that is no number, may be none or unbounded, or is infinite: nothing is to be subtracted from it.
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

/// The exponentials of a row less one of its numbers, and that one: it is the largest as far as the reading can tell.
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

/// log sum exp of a row; -inf of nothing.
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

/// 1 / k for each of the k largest of a row, 0 for all others; NaN for all where one is no number. An element that has
/// the same enclosure as another one is not proved to be the same, but each is the same as itself.
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

/// x with the sums of what is added at each place, in any order. Nothing is rounded where a zero is added to.
template <class R>
std::vector<R> scattered_sums(const std::vector<R>& x, const std::vector<R>& added, const std::vector<place>& places) {
  std::vector<std::vector<std::size_t>> reaching(x.size());
  for (std::size_t k = 0; k < places.size(); ++k) reaching[places[k].at].push_back(k);
  std::vector<R> made;
  made.reserve(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    bool is_zero = false;
    if constexpr (std::is_same_v<R, tracked>) is_zero = x[i].number == 0.0 && x[i].error == 0.0;
    if (reaching[i].empty() || (is_zero && reaching[i].size() == 1)) {
      made.push_back(reaching[i].empty() ? x[i] : added[reaching[i].front()]);
      continue;
    }
    accumulator<R> sum;
    if (!is_zero) sum.add(x[i]);
    for (const std::size_t k : reaching[i]) sum.add(added[k]);
    made.push_back(sum.total());
  }
  return made;
}

/// e^x over the sum of them: a row that is -inf everywhere has none, and neither has one with NaN or infinity.
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

}  // namespace assay::reference::formula
