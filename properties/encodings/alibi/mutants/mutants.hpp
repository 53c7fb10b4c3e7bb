// Wrong and right variants of attention with linear biases, to gate the gate.
#pragma once

#include "properties/faults/call_changes.hpp"
#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/alibi.hpp"

namespace assay::properties::encodings::alibi {

using R = reference::rounded;
using recipe = reference::encodings::alibi::recipe<R>;
inline constexpr auto& changed_alibi = make_variant<reference::encodings::alibi>;

std::vector<variant> mutants();
/// Those of the slopes and those of narrow formats, which are among them.
std::vector<variant> slope_mutants();
std::vector<variant> precision_mutants();
std::vector<variant> controls();

}  // namespace assay::properties::encodings::alibi
