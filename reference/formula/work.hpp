// The cost of the evaluation of a program, known before it begins: a short text can need more than a machine has.
#pragma once

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

/// The work of a program, where one addition is 1. It is an upper bound of the order of magnitude, the same for every
/// reading: elements times the cost of the operator for each. A contraction counts its terms, a reduction its operand,
/// a scan all its turns. Nodes that no output needs cost nothing. UINT64_MAX where it is more than that.
///
///     std::cout << formula::work_of(p) << " additions\n";
std::uint64_t work_of(const program& p);

/// An error, which names the node, where a program needs more work than `most`.
///
///     if (const auto possible = formula::check_work(p, 10'000'000'000); !possible)
///       std::cerr << possible.error().message;
core::result<void> check_work(const program& p, std::uint64_t most);

}  // namespace assay::reference::formula
