// A program as people write formulas. It is for reading alone: no code parses it.
//
//   q: real [3, 2]
//   k: real [3, 2]
//   t1[n,m] = sum_d q[n,d] k[m,d]
//   output p = softmax over axis 1 of (t1 / 2^(1/2))
//
// A result has a name and a line of its own if it is used more than once, is long, or is a contraction. Nodes that no
// output needs are not shown. A loop has its body below it, and all its results are one flat array.
#pragma once

#include <string>

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

/// At most this number of inputs, of named results and of outputs is shown, each with a count of those that are left
/// out.
inline constexpr std::size_t most_shown_lines = 1000;

/// The same program gives the same text. Apart from the names in it, no line is longer than a few hundred letters.
///
///     std::cout << formula::as_mathematics(p);
std::string as_mathematics(const program& p);

}  // namespace assay::reference::formula
