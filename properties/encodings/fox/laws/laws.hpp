// The laws of segment sums D_ij = log f_{j+1} + ... + log f_i, which need no truth.
#pragma once

#include "properties/harness/property.hpp"

namespace assay::properties::encodings::fox {

std::vector<property> laws();

}  // namespace assay::properties::encodings::fox
