// Sizes and indices at which attention kernels fail: tiles of keys and queries, widths, indices.
#pragma once

#include <vector>

#include "properties/kinds/attention.hpp"

namespace assay::properties::encodings::attention {

std::vector<variant> tile_mutants();
/// Keys and values shared by all rows and heads, as multi-query attention expands them: views of stride 0.
void shared_keys(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);

}  // namespace assay::properties::encodings::attention
