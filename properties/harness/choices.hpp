// Settings that are chosen among words or truth values: a layout, a mask.
#pragma once

#include <cstddef>
#include <vector>

#include "properties/harness/case.hpp"

namespace assay::properties {

/// A setting of words or truth values that is no size.
bool is_choice(const core::attribute_declaration& setting);

/// The key once for every value of the choice that has the most: one path of a kernel may be right at sizes where
/// another is not. Each choice takes all its values by turns; `first` says which turn begins and which values meet.
/// Where values do not go together, the key is as it was.
std::vector<case_key> with_choices_by_turns(const case_key& key, std::size_t first);

}  // namespace assay::properties
