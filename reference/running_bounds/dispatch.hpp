// The kernels of this processor. All instruction sets give the same bits.
#pragma once

#include <vector>

#include "reference/running_bounds/bounded_field.hpp"

namespace assay::reference::running {

/// The kernels of the instruction sets that this processor has, slowest first.
const std::vector<const kernel_table*>& supported_kernels();
/// The fastest of them.
const kernel_table& kernels();

}  // namespace assay::reference::running
