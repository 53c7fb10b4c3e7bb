// Loops: a body is repeated, and each turn gets the state that the turn before has left.
//
// The inputs of a body stand, in order, for the inputs of its node. First come the carried arrays. Then come the
// stepped arrays: their first axis is that of the turns, and each turn has one element of it. Then come the arrays that
// are the same in all turns. Its outputs are the carried arrays of the next turn, and after them the results of every
// turn. All carried arrays and results are real.
//
// A scan is one flat array of its parts: the carried arrays after the last turn, then, for each other output of the
// body, the results of the turns, one after the other.
#pragma once

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

/// The counts of a node that is a scan.
struct scan_counts {
  explicit scan_counts(const node& n)
      : turns(static_cast<std::size_t>(n.integer(0))),
        carried(static_cast<std::size_t>(n.integer(1))),
        stepped(static_cast<std::size_t>(n.integer(2))) {}
  std::size_t turns, carried, stepped;
};

/// The elements of a scan that belong to an output of its body: all turns of it, where it is not carried.
struct scan_part {
  std::size_t first;
  core::shape shape;
};
std::vector<scan_part> parts_of(const node& scan);

}  // namespace assay::reference::formula
