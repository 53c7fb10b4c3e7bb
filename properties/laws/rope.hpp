// The laws of rotations by position, which need no truth.
#pragma once

#include "properties/property.hpp"

namespace assay::properties {

/// All of them.
std::vector<property> rope_laws();
/// Those of scalings and gradients.
std::vector<property> rope_setting_laws();

}  // namespace assay::properties
