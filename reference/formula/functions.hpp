// What the operators of programs are in any reading, number by number.
#pragma once

#include <cmath>

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
      return log(x);
    case op::log1p:
      return log1p(x);
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
      return power(x, {n.integer(0), n.integer(1)});
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
      return x / y;
    case op::maximum:
      return larger(x, y);
    case op::minimum:
      return smaller(x, y);
    case op::pow:
      return pow(x, y);
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

/// log sum exp of a row; -inf of nothing.
template <class R>
R log_sum_exp_of(const std::vector<R>& row) {
  const auto largest_of = [&] {
    R x = row.front();
    for (const R& each : row) x = larger(x, each);
    return x;
  };
  bool is_empty = true;
  for (const R& x : row) {
    // Nothing is to be subtracted from what is infinite, unknown or no number.
    if (const double near = to_double(x); std::isnan(near) || near > std::numeric_limits<double>::max())
      return largest_of();
    if (is_no_number(x) || boost::indeterminate(is_no_number(x))) return largest_of();
    is_empty = is_empty && is_minus_infinity(x);
  }
  return is_empty ? R(-std::numeric_limits<double>::infinity()) : log_sum_of_row(row);
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

/// A row that is -inf everywhere has no softmax.
template <class R>
std::vector<R> softmax_of(const std::vector<R>& row) {
  const bool hides_all = std::all_of(row.begin(), row.end(), [](const R& x) { return is_minus_infinity(x); });
  if (!hides_all) return softmax(row);
  return std::vector<R>(row.size(), R(std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace assay::reference::formula
