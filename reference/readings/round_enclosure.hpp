// From an enclosure to the correctly rounded value, or to "undecided".
#pragma once

#include "reference/core/dtype.hpp"
#include "reference/readings/enclosure.hpp"
#include "reference/readings/rounding.hpp"

namespace assay::reference {

/// How far beyond the largest double a truth may lie, as a part of it, for that number to stand for it in `low`. The
/// radius is 0 then: every double is at least as far from the truth as it is from `low`. Beyond that low is infinite.
inline constexpr double overflow_reach = 0x1p-40;

/// Precondition: `type` is a floating-point dtype.
rounding round_enclosure(core::dtype type, const enclosure& x);

}  // namespace assay::reference
