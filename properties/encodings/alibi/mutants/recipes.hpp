// What the recipes of the mutants share.
#pragma once

#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/alibi.hpp"

namespace assay::properties::encodings::alibi {

using unchanged_alibi = unchanged<reference::encodings::alibi>;

template <class Variant>
variant make(const char* id, const char* models, const char* what) {
  return make_variant_of<reference::encodings::alibi, Variant>(id, models, what);
}

}  // namespace assay::properties::encodings::alibi
