// Scans of 16-bit arrays, compared with the time that memory needs to read and write them.
#pragma once

#include <vector>

#include "tools/bench/measure.hpp"

namespace assay::bench {

/// Measures bf16 and f16, forwards and backwards. An adjoint reads three arrays and writes two; its floor is for four
/// and two.
std::vector<measurement> measure_stored_scans(const options& settings, const scan_shape& shape, bool long_memory);

}  // namespace assay::bench
