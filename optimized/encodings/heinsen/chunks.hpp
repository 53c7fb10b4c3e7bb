// Scans of few features over many tokens. Each lane takes a chunk of time.
#pragma once

#include "optimized/kernel_table.hpp"

namespace assay::optimized::heinsen {

/// The kernels of a scan by chunks.
template <class Real>
struct chunk_kernels {
  std::size_t lanes;
  void (*summarize)(const chunk_block<Real>&, const chunk_summary<Real>&) noexcept;
  void (*scan)(const chunk_block<Real>&) noexcept;
  void (*join_maps)(const map_block&) noexcept;
};

/// Whether a sequence without gaps is faster in chunks. The answer depends only on the sizes and on the lanes.
template <class Real>
bool prefers_chunks(std::size_t tokens, std::size_t features, std::size_t lanes);

/// Scans b, one sequence whose rows have no gaps between them, on the given number of threads. The result does not
/// depend on the number of threads.
template <class Real>
void scan_in_chunks(const chunk_kernels<Real>& kernels, int threads, const row_block<Real>& b);

}  // namespace assay::optimized::heinsen
