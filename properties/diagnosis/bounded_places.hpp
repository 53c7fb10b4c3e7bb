// Entries of the fault dictionary: positions that end, or start again at 0, at the length of some table.
#pragma once

#include <vector>

#include "properties/diagnosis/dictionary.hpp"

namespace assay::properties {

/// For each usual length of a table: all positions of the operation are clamped to it, or wrap around there.
std::vector<dictionary_entry> bounded_places(const core::operation& op);

}  // namespace assay::properties
