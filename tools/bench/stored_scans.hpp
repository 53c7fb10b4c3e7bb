// Scans of arrays in 16 bits beside the time in which memory gives and takes these.
#pragma once

#include <vector>

#include "tools/bench/measure.hpp"

namespace assay::bench {

/// Of bf16 and f16, forwards and backwards. An adjoint reads three arrays and writes two; its floor is that of four and
/// two.
std::vector<measurement> measure_stored_scans(const options& how, const scan_shape& shape, bool long_memory);

}  // namespace assay::bench
