// Loops: a body so many times, each with what the one before has left.
//
// The inputs of a body, in their order, stand for what its node takes: first the carried arrays, then the stepped ones,
// which have an axis of the turns before all others and of which a turn has one element, then those that are the same
// in all turns. Its outputs are the carried arrays of the next turn, and behind them what every turn gives. All that is
// carried or given is real.
//
// A scan is one flat array of its parts: the carried arrays behind the last turn, then, for each other output of the
// body, what the turns give, one behind the other.
#pragma once

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

/// Of a node that is a scan.
struct scan_counts {
  explicit scan_counts(const node& n)
      : turns(static_cast<std::size_t>(n.integer(0))),
        carried(static_cast<std::size_t>(n.integer(1))),
        stepped(static_cast<std::size_t>(n.integer(2))) {}
  std::size_t turns, carried, stepped;
};

/// Which elements of a scan are those of an output of its body: all turns of it, where it is not carried.
struct scan_part {
  std::size_t first;
  core::shape shape;
};
std::vector<scan_part> parts_of(const node& scan);

}  // namespace assay::reference::formula
