// Programs made of programs, whose outputs are the same.
#pragma once

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

/// Without the nodes that no output needs. Inputs stay, in their order; outputs keep names and order.
core::result<program> without_dead_nodes(const program& p);

}  // namespace assay::reference::formula
