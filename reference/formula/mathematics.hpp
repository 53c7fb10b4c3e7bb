// A program as people write formulas: for eyes alone, nothing reads it.
//
//   q: real [3, 2]
//   k: real [3, 2]
//   t1[n,m] = sum_d q[n,d] k[m,d]
//   output p = softmax over axis 1 of (t1 / 2^(1/2))
//
// What is used more than once, is long, or is a contraction, has a name and a line of its own. What no output needs is
// not shown. A loop has its body below it, and is all that it gives in one flat array.
#pragma once

#include <string>

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

/// So many inputs, named results and outputs are shown at most, each with a count of those that are left out.
inline constexpr std::size_t most_shown_lines = 1000;

/// The same program gives the same text. No line is longer than a few hundred letters beside the names in it.
std::string as_mathematics(const program& p);

}  // namespace assay::reference::formula
