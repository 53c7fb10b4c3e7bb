// Settings that are chosen among words or truth values (a layout, a mask), and integers beside their standard value.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "properties/harness/case.hpp"

namespace assay::properties {

/// A setting of words or truth values that is no size.
bool is_choice(const core::attribute_declaration& setting);

/// The key once for every value of the choice that has the most: one path of a kernel may be right at sizes where
/// another is not. Each choice takes all its values by turns; `first` says which turn begins and which values meet.
/// Where values do not go together, the key is as it was.
std::vector<case_key> with_choices_by_turns(const case_key& key, std::size_t first);

/// A setting of integers that is no size.
bool is_integer(const core::attribute_declaration& setting);

/// The key with every integer at another value than its standard one, of those that `within` has, by turns; nothing
/// where none has another value.
std::optional<case_key> with_other_integers(const case_key& key, const setting_values& within, std::size_t turn);

}  // namespace assay::properties
