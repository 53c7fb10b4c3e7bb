// What the probes say where no hypothesis explains them.
#pragma once

#include "properties/diagnosis/probes.hpp"

namespace assay::properties {

/// The values rounded to a dtype.
core::tensors rounded(const core::tensors& values, core::dtype type);

/// "a -inf prefix gives NaN", "s_n alone is wrong, from n = 2 on". Precondition: some probe is wrong.
std::string facts_of(const std::vector<probe>& probes);

}  // namespace assay::properties
