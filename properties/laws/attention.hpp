// Laws of attention that need no truth.
#pragma once

#include "properties/property.hpp"

namespace assay::properties {

std::vector<property> attention_laws();

}  // namespace assay::properties
