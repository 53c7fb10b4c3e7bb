// From an enclosure to the correctly rounded value, or to "undecided".
#pragma once

#include "reference/core/dtype.hpp"
#include "reference/readings/enclosure.hpp"

namespace assay::reference {

struct rounding {
  double value = 0.0;        ///< the truth rounded to nearest, ties to even
  double low = 0.0;          ///< truth - value, to double; the truth itself where value overflowed
  double radius = 0.0;       ///< bound on the distance of value + low from the truth; of a bound below 2^-1074, 2^-1074
  bool decided = false;      ///< proved: every number of the enclosure rounds to `value`
  bool low_decided = false;  ///< proved besides: `low` is the remainder rounded to nearest, ties to even
};

/// How far beyond the largest double a truth may lie, as a part of it, for that number to stand for it in `low`. The
/// radius is 0 then: every double is at least as far from the truth as it is from `low`. Beyond that low is infinite.
inline constexpr double overflow_reach = 0x1p-40;

/// Precondition: `type` is a floating-point dtype.
rounding round_enclosure(core::dtype type, const enclosure& x);

}  // namespace assay::reference
