// Forgetting attention beside operations of other encodings, where an implementation has both.
#pragma once

#include "properties/property.hpp"

namespace assay::properties {

std::vector<property> fox_laws_beside_others();

}  // namespace assay::properties
