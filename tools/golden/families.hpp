// The families of inputs that recipes of golden sets may name.
#pragma once

#include "golden/recipe.hpp"

namespace assay::tools {

/// The families of the catalogue. An entry's inputs are those of the case with this seed, these sizes and these
/// settings.
golden::input_families all_families();

}  // namespace assay::tools
