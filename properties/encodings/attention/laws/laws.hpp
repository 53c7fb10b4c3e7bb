// Laws of attention that need no truth.
#pragma once

#include "properties/harness/property.hpp"

namespace assay::properties::encodings::attention {

std::vector<property> laws();

}  // namespace assay::properties::encodings::attention
