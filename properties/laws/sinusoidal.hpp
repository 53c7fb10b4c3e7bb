// The laws of sinusoidal encodings, which need no truth.
#pragma once

#include "properties/property.hpp"

namespace assay::properties {

std::vector<property> sinusoidal_laws();

}  // namespace assay::properties
