// The decay of forgetting attention between its own operations: any log f, any numbers for D.
#pragma once

#include <cstddef>

#include "optimized/dispatch.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::fox {

/// D of log f in double, [B, n, heads].
template <class Real>
void decay_of(const execution& on, const view<const double, 3>& log_f, const view<Real, 4>& D);

/// The gradient of log f, [B, n, heads], in double. It is overwritten.
template <class Real>
void decay_gradient(const execution& on, const view<const Real, 4>& grad_D, const view<double, 3>& grad_log_f);

}  // namespace assay::optimized::fox
