// Programs made of others.
#pragma once

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

/// These inputs, in this order, behind them all that the outputs need, and these outputs. Precondition: no other input
/// is needed.
core::result<program> part_of(const program& p, const std::vector<node_id>& inputs,
                              const std::vector<program::output>& outputs);

/// All inputs, and of the other nodes those that an output needs.
core::result<program> without_dead_nodes(program p);

/// Without what counts for allowances alone, but where that has more axes.
core::result<program> without_alternatives(program p);

}  // namespace assay::reference::formula
