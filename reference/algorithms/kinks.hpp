// Functions with a kink, where programs that are right have different gradients, or a jump, where they have different
// numbers.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "reference/accuracy_class.hpp"
#include "reference/readings/differentiated.hpp"
#include "reference/readings/tracked.hpp"

namespace assay::reference {

/// x where every number that is no farther from it than `reach` is right, too. What is no rounding is all there under
/// the slack of a class, and under that of a bug as it is stored.
template <class R>
R right_within(double reach, const R& x) {
  if constexpr (carries_derivatives<R>)
    return R::made(right_within(reach, x.number), R::along(x));
  else if constexpr (std::is_same_v<R, tracked>)
    return {x.number, x.error + reach / (class_slack * tracked::u())};
  else
    return x;
}

/// x, of which y is right as well.
template <class R>
R right_as_well(const R& x, const R& y) {
  if constexpr (std::is_same_v<R, tracked>)
    return {x.number,
            larger_error(x.error, y.error + std::fabs(x.number - y.number) / (class_slack * tracked::u()))};
  else
    return x;
}

/// Whether it may have been computed as 0, though it is not known to be 0.
template <class R>
bool may_be_zero(const R& x) {
  if constexpr (std::is_same_v<R, tracked>)
    return x.error != 0.0 && !(std::fabs(x.number) > tracked::u() * x.error);
  else
    return false;
}

/// x / y of a y that is no sum of positive numbers: where it may have been computed as 0, infinity and NaN are
/// explained, and a factor of 0 behind does not silence them.
template <class R>
R quotient_of_any(const R& x, const R& y) {
  if constexpr (carries_derivatives<R>) {
    using N = typename R::underlying;
    if (!may_be_zero(y.number)) return x / y;
    const N r = quotient_of_any(x.number, y.number);
    return R::made(r, R::by(x, [&] { return quotient_of_any(N(1.0), y.number); }),
                   R::by(y, [&] { return -quotient_of_any(r, y.number); }));
  } else if constexpr (std::is_same_v<R, tracked>) {
    return may_be_zero(y) ? tracked((x / y).number, std::numeric_limits<double>::quiet_NaN()) : x / y;
  } else {
    return x / y;
  }
}

/// |x|, whose slope is 0 at 0 as in PyTorch, JAX and TensorFlow.
template <class R>
R magnitude_of(const R& x) {
  if (std::isnan(to_double(x))) return x;
  // The magnitudes of two numbers are no farther apart than the numbers, whatever their signs are.
  if constexpr (std::is_same_v<R, tracked>) return by_magnitude(x);
  return either(less(x, R(0.0)), -x, either(less(R(0.0), x), x, R(0.0)));
}

/// The larger of two numbers that are no NaN. Where they are the same, each has half of the gradient, as PyTorch and
/// JAX give it; TensorFlow gives all of it to the first one: anything between none and all is right.
template <class R>
R larger_by_halves(const R& x, const R& y) {
  if constexpr (carries_derivatives<R>) {
    using N = typename R::underlying;
    const boost::tribool y_is_larger = less(x, y), x_is_larger = less(y, x);
    const auto share = [&] {
      const bool is_tie = !boost::indeterminate(x_is_larger) && !boost::indeterminate(y_is_larger);
      return is_tie ? right_within(0.5, N(0.5)) : either(boost::indeterminate, N(1.0), N(0.0));
    };
    if (!bool(x_is_larger) && !bool(y_is_larger))
      return R::made(larger(x.number, y.number), R::by(x, share), R::by(y, share));
  }
  return larger(x, y);
}

/// y where it is above 0, else slope times y; of the slope 0, nothing. At 0 programs have the slope of either side,
/// which the allowance covers.
template <class R>
R leaky_relu(const R& y, const R& slope) {
  const boost::tribool is_above = less(R(0.0), y);
  if constexpr (carries_derivatives<R>) {
    using N = typename R::underlying;
    const auto slope_if = [&](boost::tribool above) { return either(above, N(1.0), slope.number); };
    const auto of_either_side = [&] {
      return covering(slope_if(is_above), [&] { return slope_if(boost::indeterminate); });
    };
    if (boost::indeterminate(is_above) || (bool(!is_above) && to_double(y) == 0.0))
      return R::made(leaky_relu(y.number, slope.number), R::by(y, of_either_side));
  }
  const bool vanishes = to_double(slope) == 0.0 && !std::isnan(to_double(y));
  return either(is_above, y, vanishes ? R(0.0) : slope * y);
}

}  // namespace assay::reference
