// Functions with a kink, where correct programs have different gradients, or with a jump, where they have different
// numbers.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "reference/accuracy_class.hpp"
#include "reference/readings/differentiated.hpp"
#include "reference/readings/tracked.hpp"

namespace assay::reference {

/// x, where y is also right.
template <class R>
R right_as_well(const R& x, const R& y) {
  if constexpr (std::is_same_v<R, tracked>)
    return {x.number, larger_error(x.error, y.error + std::fabs(x.number - y.number) / (class_slack * tracked::u()))};
  else
    return x;
}

/// Whether x may have been computed as 0, though it is not known to be 0.
template <class R>
bool may_be_zero(const R& x) {
  if constexpr (std::is_same_v<R, tracked>)
    return x.error != 0.0 && !(std::fabs(x.number) > tracked::u() * x.error);
  else
    return false;
}

/// x / y for a y that is no sum of positive numbers. Where y may have been computed as 0, the law explains infinity and
/// NaN, and a later factor of 0 does not remove them.
template <class R>
R quotient_of_any(const R& x, const R& y) {
  if constexpr (std::is_same_v<R, tracked>) {
    return may_be_zero(y) ? tracked((x / y).number, std::numeric_limits<double>::quiet_NaN()) : x / y;
  } else {
    return x / y;
  }
}

/// |x|, whose slope is 0 at 0 as in PyTorch, JAX and TensorFlow.
template <class R>
R magnitude_of(const R& x) {
  if (std::isnan(to_double(x))) return x;
  // The magnitudes of two numbers are no farther apart than the numbers, whatever their signs.
  if constexpr (std::is_same_v<R, tracked>) return by_magnitude(x);
  return either(less(x, R(0.0)), -x, either(less(R(0.0), x), x, R(0.0)));
}

/// The larger of two numbers that are not NaN. Where they are equal, each has half of the gradient, as in PyTorch and
/// JAX; TensorFlow gives all of it to the first one: anything from none to all is right.
template <class R>
R larger_by_halves(const R& x, const R& y) {
  if constexpr (carries_derivatives<R>) {
    using N = typename R::underlying;
    const auto half = [] { return N(0.5); };
    if (!bool(less(x, y)) && !bool(less(y, x)))
      return R::made(larger(x.number, y.number), R::by(x, half), R::by(y, half));
  }
  return larger(x, y);
}

}  // namespace assay::reference
