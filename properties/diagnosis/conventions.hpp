// Entries of the dictionary that every operation with settings has: the implementation follows another convention than
// it was asked for. This recovers the convention of a candidate, such as the layout of rotary pairs, from what it
// computes.
#pragma once

#include <vector>

#include "properties/diagnosis/dictionary.hpp"

namespace assay::properties {

/// For every setting and each of its values, that it behaves as if that were asked for; for every pair of values, that
/// the two are exchanged; then for every two settings, that it behaves as two other declared values. The sentences name
/// what the wrong probes asked for where that is one value.
std::vector<dictionary_entry> conventions_of(const core::operation& op, const std::vector<probe>& probes);

}  // namespace assay::properties
