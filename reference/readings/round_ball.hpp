// Rounds a ball to the correctly rounded value, or reports "undecided".
#pragma once

#include "reference/core/dtype.hpp"
#include "reference/readings/ball.hpp"
#include "reference/readings/rounding.hpp"

namespace assay::reference {

/// Never sets `low_decided`.
template <class Number>
rounding round_ball(core::dtype type, const ball<Number>& x);

}  // namespace assay::reference
