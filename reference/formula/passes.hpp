// Programs made of others.
#pragma once

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

/// All inputs, and of the other nodes those that an output needs.
core::result<program> without_dead_nodes(const program& p);

/// Without what counts for allowances alone, but where that has more axes.
core::result<program> without_alternatives(const program& p);

}  // namespace assay::reference::formula
