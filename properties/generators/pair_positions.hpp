// Positions of queries and keys for encodings of the relation of two tokens.
#pragma once

#include <cstddef>
#include <vector>

#include "properties/harness/case.hpp"

namespace assay::properties {

struct pair_positions {
  std::vector<double> query, key;
};

/// Fills the positions of as many queries and keys as are there.
using position_filler = void (*)(pair_positions& positions, core::dtype type, core::counter_random& random);

/// The largest position that tests use: what is summed over pairs stays finite in f16.
double largest_position(core::dtype type);

/// Queries and keys of a case of that size: few queries, up to 300 keys where it is long.
pair_positions draw_pairs(const core::operation& op, core::counter_random& random, extent size);

/// Keys 0, 1, ... and the last queries among them, as in decoding with a cache.
void in_order(pair_positions& positions, core::dtype type, core::counter_random& random);
/// The same far from the beginning.
void far_window(pair_positions& positions, core::dtype type, core::counter_random& random);
/// All over the range of positions, in no order, some of them twice.
void scattered(pair_positions& positions, core::dtype type, core::counter_random& random);

/// The two inputs that hold them.
void add_positions(const core::operation& op, core::tensors& inputs, const pair_positions& positions);

}  // namespace assay::properties
