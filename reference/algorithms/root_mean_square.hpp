// The reciprocal root of the mean of squares (Zhang and Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019,
// arXiv 1910.07467, eq. 4), with a number under the root that makes rows of zeros finite.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "reference/readings/tracked.hpp"

namespace assay::reference {

/// 1 / sqrt(x) for x > 0, where x is the mean of `count` squares plus a number. It is a square root and a division, or
/// the reciprocal root of a GPU, which is within 2 ulp (CUDA C++ Programming Guide, rsqrtf): a relative error of at
/// most 4 u. A sum of squares that overflows the format leaves nothing of a row: the allowance is infinite there.
template <class R>
R reciprocal_root(const R& x, [[maybe_unused]] double count) {
  if constexpr (std::is_same_v<R, tracked>) {
    const double r = 1.0 / std::sqrt(x.number), least = 1.0 - tracked::u() * x.error / x.number;
    if (!(least > 0.0) || x.number * count > core::largest_finite(arithmetic().type))
      return {r, std::numeric_limits<double>::infinity()};
    return {r, r * (1.0 / std::sqrt(least) - 1.0) / tracked::u() + 4.0 * r + tracked::tau()};
  } else {
    return power(x, ratio(-1, 2));
  }
}

}  // namespace assay::reference
