// The operators of programs as functions of numbers, in any reading.
#pragma once

#include <cmath>
#include <utility>

#include "reference/algorithms/frequencies.hpp"
#include "reference/algorithms/kinks.hpp"
#include "reference/algorithms/modulus.hpp"
#include "reference/algorithms/root_mean_square.hpp"
#include "reference/algorithms/settings.hpp"
#include "reference/formula/arrays.hpp"
#include "reference/primitives/all.hpp"
#include "reference/primitives/constants.hpp"
#include "reference/primitives/error_function.hpp"
#include "reference/primitives/hyperbolic.hpp"

namespace assay::reference::formula {

/// Whether x is NaN; indeterminate where a reading cannot tell.
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
  return -larger_by_halves(-x, -y);
}

/// Whether a program may have computed x at the end of a domain or below, though x is not known to lie there.
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
/// r; NaN as well where `may_be` says that it may be no number.
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
    case op::sine_of_angle:
      return sine_of(x);
    case op::cosine_of_angle:
      return cosine_of(x);
    case op::tanh:
      return tanh(x);
    case op::erf:
      return erf(x);
    case op::entire_cosine_integral:
      return entire_cosine_integral(x);
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
    case op::held_in:
      if constexpr (std::is_same_v<R, rounded>)
        return rounded(core::round_to(static_cast<core::dtype>(n.integer(0)), x.number));
      return x;
    case op::without_error:
      if constexpr (std::is_same_v<R, tracked>) return {x.number, 0.0};
      return x;
    case op::reciprocal_root:
      return reciprocal_root(x, static_cast<double>(n.integer(0)));
    case op::rounded_once:
      if constexpr (computes_in_formats<R>) return x.rounded_once();
      return x;
    default:
      ASSAY_EXPECTS(n.what == op::detach);
      if constexpr (carries_derivatives<R>)
        return R(x.number);
      else
        return x;
  }
}

/// Whether x is an exact zero, which rounds nothing where it is added: a term that a mask hides is no term.
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
/// x + y. A sum with an exact zero is not rounded; but it is cast where stages have formats of their own.
template <class R>
R sum_of(const R& x, const R& y) {
  if constexpr (std::is_same_v<R, tracked>) {
    const auto is_kept = [](const tracked& z) {
      return !stages_differ() || (z.error == 0.0 && core::round_to(arithmetic().type, z.number) == z.number);
    };
    if (adds_nothing(x) && is_kept(y)) return y;
    if (adds_nothing(y) && is_kept(x)) return x;
  }
  return x + y;
}

template <class R>
R function_of(const node& n, const R& x, const R& y) {
  switch (n.what) {
    case op::add:
      return sum_of(x, y);
    case op::subtract:
      return x - y;
    case op::multiply:
      return x * y;
    case op::divide:
      return quotient_of_any(x, y);
    case op::maximum:
      return larger_by_halves(x, y);
    case op::minimum:
      return smaller(x, y);
    case op::pow:
      return beyond_domain(may_reach(x, 0.0) && !is_exact_integer(y), pow(x, y));
    case op::right_as_well:
      return to_double(x) == to_double(y) ? covering(x, [&] { return y; }) : right_as_well(x, y);
    case op::another_way:
      // Where the other way gives no number, it is wrong, and adds nothing.
      if constexpr (std::is_same_v<R, tracked>)
        if (!std::isfinite(y.error)) return x;
      return covering(x, [&] { return y; });
    case op::off_by:
      if constexpr (std::is_same_v<R, tracked>) return {x.number, x.error + std::fabs(y.number)};
      return x;
    case op::with_gradient_of:
      return x;
    case op::modulus:
      return modulus_of(x, y);
    default:
      ASSAY_EXPECTS(n.what == op::log_add_exp);
      return log_sum_exp(x, y);
  }
}
template <class R>
R function_of(const node& n, const R& x, const R& y, const R& z) {
  ASSAY_EXPECTS(n.what == op::modulus_slope);
  return modulus_slope(x, y, z);
}

/// base^(-t / steps)
template <class R>
R frequency(const R& base, std::size_t t, std::size_t steps) {
  return beyond_domain(t % steps != 0 && may_reach(base, 0.0), geometric_frequency(base, t, steps));
}
/// A double; rounded where it is no number of the format.
template <class R>
R as_it_is(double x) {
  if constexpr (std::is_same_v<R, tracked>)
    return from_setting<R>(x);  // from_setting knows subnormal numbers
  else
    return R(x);
}
/// The value of a leaf that is one number.
template <class R>
R constant(const node& n) {
  const auto integer = [](std::int64_t x) { return reference::from_integer<R>(static_cast<double>(x)); };
  switch (n.what) {
    case op::fraction:
      return n.integer(1) == 1 ? integer(n.integer(0)) : integer(n.integer(0)) / integer(n.integer(1));
    case op::pi:
      return pi<R>();
    case op::setting:
      return from_setting<R>(n.number);
    default:
      return as_it_is<R>(n.number);
  }
}

/// Whether x is +inf; false where the reading does not know it.
template <class R>
bool is_plus_infinity(const R& x) {
  if constexpr (carries_derivatives<R>)
    return is_plus_infinity(x.number);
  else if constexpr (requires { x.is_infinite(); })
    return x.is_infinite() && to_double(x) > 0.0;
  else
    return std::isinf(to_double(x)) && to_double(x) > 0.0;
}
/// Whether x is certainly a finite number.
template <class R>
bool is_bounded(const R& x) {
  if constexpr (carries_derivatives<R>)
    return is_bounded(x.number);
  else if constexpr (requires { x.is_finite(); })
    return x.is_finite();
  else
    return std::isfinite(to_double(x));
}
template <class R>
bool adds_nothing(const R& x, const R& y) {
  const auto is_finite = [](const R& z) {
    if constexpr (std::is_same_v<R, tracked>)
      return std::isfinite(z.number) && std::isfinite(z.error);
    else
      return is_bounded(z);
  };
  const auto is_zero = [](const R& z) {
    if constexpr (std::is_same_v<R, rounded>)
      return z.number == 0.0;
    else
      return adds_nothing(z);
  };
  return (is_zero(x) && is_finite(y)) || (is_zero(y) && is_finite(x));
}

/// Whether x is certainly finite, but so large that no double is near it.
template <class R>
bool is_beyond_doubles(const R& x) {
  return is_bounded(x) && std::isinf(to_double(x));
}

}  // namespace assay::reference::formula
