// Adjoints of scans of few features over many tokens. Lanes hold different times.
#pragma once

#include "optimized/kernel_table.hpp"

namespace assay::optimized::heinsen {

/// The kernels of one adjoint.
struct narrow_adjoint {
  void (*weigh)(const narrow_block&) noexcept;
  void (*go_back)(const narrow_block&) noexcept;
  void (*finish)(const narrow_block&) noexcept;
};

/// Whether such a sequence is faster with narrow_vjp. The answer depends only on the sizes.
bool prefers_narrow(std::size_t tokens, std::size_t features);

/// The adjoint of b on the given number of threads. b is one sequence. If b.past_caches is true, its gradients may be
/// stored around the caches. The result does not depend on the number of threads.
void narrow_vjp(const narrow_adjoint& kernels, int threads, const adjoint_block<float>& b);

}  // namespace assay::optimized::heinsen
