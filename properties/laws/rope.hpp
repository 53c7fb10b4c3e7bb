// The laws of rotations by position, which need no truth.
#pragma once

#include "properties/property.hpp"

namespace assay::properties {

std::vector<property> rope_laws();

}  // namespace assay::properties
