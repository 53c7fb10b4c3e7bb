// Positions of queries and keys for encodings that depend on the relation of two tokens.
#pragma once

#include <cstddef>
#include <vector>

#include "properties/harness/case.hpp"

namespace assay::properties {

struct pair_positions {
  std::vector<double> query, key;
};

/// Fills the positions; the vectors already have their sizes.
using position_filler = void (*)(pair_positions& positions, core::dtype type, core::counter_random& random);

/// The largest position that tests use: sums over pairs stay finite in f16.
double largest_position(core::dtype type);

/// Queries and keys of a case of this size: few queries, and up to 300 keys if the case is long.
pair_positions draw_pairs(const core::operation& op, core::counter_random& random, extent size);

/// Keys at 0, 1, ..., and queries at the last of these positions, as in decoding with a cache.
void in_order(pair_positions& positions, core::dtype type, core::counter_random& random);
/// The same positions, all moved far from the beginning.
void far_window(pair_positions& positions, core::dtype type, core::counter_random& random);
/// Positions anywhere in the range, in no order. In half of the cases some key stands where the last query stands.
void scattered(pair_positions& positions, core::dtype type, core::counter_random& random);

/// Adds the two inputs that hold the positions.
void add_positions(const core::operation& op, core::tensors& inputs, const pair_positions& positions);

}  // namespace assay::properties
