// Rounds an enclosure to the correctly rounded value, or reports "undecided".
#pragma once

#include "reference/core/dtype.hpp"
#include "reference/readings/enclosure.hpp"
#include "reference/readings/rounding.hpp"

namespace assay::reference {

/// A truth may lie beyond the largest double by this part of it and still be replaced by it in `low`. The radius is
/// then 0: every double is at least as far from the truth as it is from `low`. For truths farther out, low is infinite.
inline constexpr double overflow_reach = 0x1p-40;

/// Precondition: `type` is a floating-point dtype.
rounding round_enclosure(core::dtype type, const enclosure& x);

}  // namespace assay::reference
