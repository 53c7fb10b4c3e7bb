// What the recipes of the mutants share.
#pragma once

#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/sinusoidal.hpp"

namespace assay::properties::encodings::sinusoidal {

using unchanged_table = unchanged<reference::encodings::sinusoidal>;

template <class Variant>
variant make(const char* id, const char* models, const char* what) {
  return make_variant_of<reference::encodings::sinusoidal, Variant>(id, models, what);
}

}  // namespace assay::properties::encodings::sinusoidal
