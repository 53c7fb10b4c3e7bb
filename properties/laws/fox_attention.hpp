// What no gate, no earlier token and no later one may reach: laws of forgetting attention and of its derivatives.
#pragma once

#include "properties/property.hpp"

namespace assay::properties {

std::vector<property> fox_attention_laws();

}  // namespace assay::properties
