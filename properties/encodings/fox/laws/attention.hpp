// What no gate, no earlier token and no later one may reach: laws of forgetting attention and of its derivatives.
#pragma once

#include "properties/harness/property.hpp"

namespace assay::properties::encodings::fox {

std::vector<property> attention_laws();

}  // namespace assay::properties::encodings::fox
