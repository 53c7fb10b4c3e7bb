// What the evaluation of a program costs, known before it begins: a short text can ask for more than a machine has.
#pragma once

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

/// The work of one addition is 1; an upper bound of the order of magnitude, the same for every reading: elements times
/// what the operator costs for each. A contraction has its terms, a reduction what it takes, a scan all its turns.
/// Nodes that no output needs cost nothing. UINT64_MAX where it is more.
std::uint64_t work_of(const program& p);

/// An error, which names the node, where a program needs more work than `most`.
core::result<void> check_work(const program& p, std::uint64_t most);

}  // namespace assay::reference::formula
