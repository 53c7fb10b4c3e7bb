// The laws of segment sums D_ij = log f_{j+1} + ... + log f_i, which need no truth.
#pragma once

#include "properties/property.hpp"

namespace assay::properties {

std::vector<property> fox_laws();

}  // namespace assay::properties
