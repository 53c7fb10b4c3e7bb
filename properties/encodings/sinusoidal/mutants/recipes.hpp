// What the recipes of the mutants share.
#pragma once

#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/sinusoidal.hpp"

namespace assay::properties::encodings::sinusoidal {

using unchanged_table = unchanged<reference::encodings::sinusoidal>;

}  // namespace assay::properties::encodings::sinusoidal
