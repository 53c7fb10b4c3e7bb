// The laws of the encoding: what must hold between outputs, without a truth to compare with.
#pragma once

#include "properties/property.hpp"

namespace assay::properties {

std::vector<property> skeleton_laws();

}  // namespace assay::properties
