// What the recipes of the mutants share.
#pragma once

#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/alibi.hpp"

namespace assay::properties::encodings::alibi {

using unchanged_alibi = unchanged<reference::encodings::alibi>;

}  // namespace assay::properties::encodings::alibi
