// The families of inputs that recipes of golden sets may name.
#pragma once

#include "golden/recipe.hpp"

namespace assay::tools {

/// The families of the catalogue. The inputs of a recipe's entry are those of the case that has its family, its
/// seed, its sizes and its settings.
golden::input_families all_families();

}  // namespace assay::tools
