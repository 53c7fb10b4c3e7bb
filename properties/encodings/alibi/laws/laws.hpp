// The laws of linear biases, which need no truth.
#pragma once

#include "properties/harness/property.hpp"

namespace assay::properties::encodings::alibi {

std::vector<property> slope_laws();
/// Those of biases, the following ones among them.
std::vector<property> bias_laws();

std::vector<property> square_laws();
std::vector<property> key_laws();
std::vector<property> gradient_laws();
/// Those that need attention; none where there is no such operation.
std::vector<property> attention_laws();

}  // namespace assay::properties::encodings::alibi
