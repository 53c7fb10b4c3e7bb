// The laws of the encoding: what must hold between its outputs. They need no truth.
#pragma once

#include "properties/harness/property.hpp"

namespace assay::properties::encodings::skeleton {

std::vector<property> laws();

}  // namespace assay::properties::encodings::skeleton
