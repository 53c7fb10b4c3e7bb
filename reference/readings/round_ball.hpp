// From a ball to the correctly rounded value, or to "undecided".
#pragma once

#include "reference/core/dtype.hpp"
#include "reference/readings/ball.hpp"
#include "reference/readings/rounding.hpp"

namespace assay::reference {

/// `low_decided` is never set.
template <class Number>
rounding round_ball(core::dtype type, const ball<Number>& x);

}  // namespace assay::reference
