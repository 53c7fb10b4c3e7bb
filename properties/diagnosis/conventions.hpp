// Entries of the dictionary for every operation with settings: the implementation follows another convention than the
// one it was asked for. They recover a candidate's convention, such as the layout of rotary pairs, from what it
// computes.
#pragma once

#include <vector>

#include "properties/diagnosis/dictionary.hpp"

namespace assay::properties {

/// For every setting and each of its values: the implementation behaves as if that value were asked for. For every two
/// settings: it behaves as two other declared values. For every number: it behaves as a usual number that is not
/// declared. If the wrong probes all asked for one value, the sentences name it; otherwise there are also entries that
/// exchange two values.
std::vector<dictionary_entry> conventions_of(const core::operation& op, const std::vector<probe>& probes);

}  // namespace assay::properties
