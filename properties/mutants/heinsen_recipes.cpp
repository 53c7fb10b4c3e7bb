#include "properties/mutants/heinsen_recipes.hpp"

namespace assay::properties {

#define ASSAY_RECIPE(type)                                                                      \
  template core::tensors run_recipe<reference::heinsen, reference::rounded<core::dtype::type>>( \
      const request&, const reference::heinsen::recipe<reference::rounded<core::dtype::type>>&);
ASSAY_RECIPE(f64)
ASSAY_RECIPE(f32)
ASSAY_RECIPE(f16)
ASSAY_RECIPE(bf16)
#undef ASSAY_RECIPE

}  // namespace assay::properties
