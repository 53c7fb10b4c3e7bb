// The laws of T5's relative bias, which need no truth.
#pragma once

#include "properties/harness/property.hpp"

namespace assay::properties::encodings::t5_bias {

std::vector<property> t5_bucket_laws();
/// Those of pairs of tokens, the following ones among them.
std::vector<property> pair_laws();

std::vector<property> gradient_laws();
/// Those that join it to linear biases; none where there is no such operation.
std::vector<property> alibi_laws();

}  // namespace assay::properties::encodings::t5_bias
