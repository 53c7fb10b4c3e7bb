// The laws of T5's relative bias, which need no truth.
#pragma once

#include "properties/property.hpp"

namespace assay::properties {

std::vector<property> t5_bucket_laws();
std::vector<property> t5_bias_pair_laws();

}  // namespace assay::properties
