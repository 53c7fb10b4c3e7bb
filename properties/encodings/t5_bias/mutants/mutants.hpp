// Wrong and right variants of T5's relative bias, to gate the gate.
#pragma once

#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/t5_bias.hpp"

namespace assay::properties::encodings::t5_bias {

using R = reference::rounded;
using recipe = reference::encodings::t5_bias::recipe<R>;
inline constexpr auto& changed_t5 = make_variant<reference::encodings::t5_bias>;

std::vector<variant> mutants();
/// Those of the bucket map, which are among them.
std::vector<variant> t5_bucket_mutants();
std::vector<variant> controls();

}  // namespace assay::properties::encodings::t5_bias
