// Forgetting attention beside operations of other encodings, where an implementation has both.
#pragma once

#include "properties/harness/property.hpp"

namespace assay::properties::encodings::fox {

std::vector<property> laws_beside_others();

}  // namespace assay::properties::encodings::fox
