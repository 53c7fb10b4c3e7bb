// The laws of T5's relative bias, which need no truth.
#pragma once

#include "properties/property.hpp"

namespace assay::properties {

std::vector<property> t5_bucket_laws();
/// Those of pairs of tokens, the following ones among them.
std::vector<property> t5_bias_pair_laws();

std::vector<property> t5_bias_gradient_laws();
/// Those that join it to linear biases; none where there is no such operation.
std::vector<property> t5_bias_alibi_laws();

}  // namespace assay::properties
