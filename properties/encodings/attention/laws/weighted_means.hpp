// What holds of every operation that gives o = softmax(logits of q and k) v, whatever is added to its logits.
#pragma once

#include "properties/harness/property.hpp"

namespace assay::properties::encodings::attention {

std::vector<property> weighted_mean_laws();

}  // namespace assay::properties::encodings::attention
