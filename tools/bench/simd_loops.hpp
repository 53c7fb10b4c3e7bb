// The loop of scalar_scan on vector registers, with exp and log1p from libraries: peers of scans with many features.
#pragma once

#include <cstddef>
#include <vector>

namespace assay::bench {

/// scalar_scan with features in the lanes of vector registers. Precondition: `features` is a multiple of 16.
struct simd_loop {
  const char* name;
  void (*scan)(const float* log_p, const float* h, float* s, std::size_t tokens, std::size_t features);
};

/// Loops for the widest registers of this processor, with SLEEF (errors up to 1 ulp) and xsimd, as far as these were
/// installed when Assay was built.
std::vector<simd_loop> simd_loops();

}  // namespace assay::bench
