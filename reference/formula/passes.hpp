// Programs that are made from other programs.
#pragma once

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

/// A program with these inputs, in this order, all nodes that the outputs need, and these outputs. Precondition: no
/// other input is needed.
core::result<program> part_of(const program& p, const std::vector<node_id>& inputs,
                              const std::vector<program::output>& outputs);

/// The program with all inputs; of the other nodes it has those that an output needs.
core::result<program> without_dead_nodes(program p);

/// The program with the first operand in place of each right_as_well, another_way, off_by and with_gradient_of, except
/// where the other operand broadcasts the first one.
core::result<program> without_alternatives(program p);

}  // namespace assay::reference::formula
