// Settings chosen among words or truth values (a layout, a mask), and integers at other values than the standard one.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "properties/harness/case.hpp"

namespace assay::properties {

/// Whether a setting has words or truth values, and is not the size of an axis.
bool is_choice(const core::attribute_declaration& setting);

/// Keys in which each choice takes all its values in turn: one path of a kernel may be right at sizes where another
/// path is wrong. There are as many keys as the largest number of values of a choice, and one for each value that would
/// otherwise be missing. `first` says which turn begins and which values meet. If the values of a turn do not go
/// together, its key is the given one.
std::vector<case_key> with_choices_by_turns(const case_key& key, std::size_t first);

/// Whether a setting is an integer, and not the size of an axis.
bool is_integer(const core::attribute_declaration& setting);

/// The key with every integer at another value than its standard one, in turn, from the values in `within`. Nothing if
/// no integer has another value.
std::optional<case_key> with_other_integers(const case_key& key, const setting_values& within, std::size_t turn);

}  // namespace assay::properties
