// Queries that no key is left for.
#pragma once

#include "properties/laws/relations/relations.hpp"

namespace assay::properties::encodings::attention {

/// Whether some query has no key that is not masked.
bool has_row_without_keys(const request& call);

/// The softmax of a row of -inf is 0 / 0. Programs give NaN there, as the formula does, or 0, as fused kernels do
/// (pytorch/pytorch#103963 and #133882); both are right, and anything else is a value that no key gave. Other queries
/// do not notice. Where such a row is 0 it has no gradients, and gives none.
void check_rows_without_keys(experiment& e);

}  // namespace assay::properties::encodings::attention
