// Adjoints of scans of few features over many tokens: time in lanes.
#pragma once

#include "optimized/kernel_table.hpp"

namespace assay::optimized::heinsen {

/// The kernels of one adjoint.
struct narrow_adjoint {
  void (*weigh)(const narrow_block&) noexcept;
  void (*go_back)(const narrow_block&) noexcept;
  void (*finish)(const narrow_block&) noexcept;
};

/// Whether such a sequence is faster by narrow_vjp. Depends on the sizes alone.
bool prefers_narrow(std::size_t tokens, std::size_t features);

/// The adjoint of b, one sequence whose gradients may be stored around the caches where b.past_caches, on the given
/// number of threads. The result does not depend on their number.
void narrow_vjp(const narrow_adjoint& kernels, int threads, const adjoint_block<float>& b);

}  // namespace assay::optimized::heinsen
