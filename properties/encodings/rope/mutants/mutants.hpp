// Wrong and right variants of rotary position embedding, to gate the gate.
#pragma once

#include "properties/faults/call_changes.hpp"
#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/rope.hpp"

namespace assay::properties::encodings::rope {

using R = reference::rounded;
using recipe = reference::encodings::rope::recipe<R>;
inline constexpr auto& changed_rope = make_variant<reference::encodings::rope>;

/// All wrong ones, and by what is wrong.
std::vector<variant> mutants();
std::vector<variant> layout_mutants();
std::vector<variant> position_mutants();
std::vector<variant> frequency_mutants();
std::vector<variant> gradient_mutants();
std::vector<unmodelled> not_modelled();
std::vector<variant> controls();

}  // namespace assay::properties::encodings::rope
