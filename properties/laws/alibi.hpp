// The laws of linear biases, which need no truth.
#pragma once

#include "properties/property.hpp"

namespace assay::properties {

std::vector<property> alibi_slope_laws();
/// Those of biases, the following ones among them.
std::vector<property> alibi_bias_laws();

std::vector<property> alibi_square_laws();
std::vector<property> alibi_key_laws();
std::vector<property> alibi_gradient_laws();
/// Those that need attention; none where there is no such operation.
std::vector<property> alibi_attention_laws();

}  // namespace assay::properties
