// The laws of linear biases, which need no truth.
#pragma once

#include "properties/property.hpp"

namespace assay::properties {

std::vector<property> alibi_slope_laws();
std::vector<property> alibi_bias_laws();

}  // namespace assay::properties
