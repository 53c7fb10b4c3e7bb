// The fast implementation on arrays: what it computes, and the paper and equation that it comes from.
//
// Views, results and threads are as of encodings/heinsen.hpp. State here the order of the sums, why errors stay small,
// and what special values give.
#pragma once

#include "optimized/dispatch.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::skeleton {

template <class Real>
struct scale_inputs {
  view<const Real, 3> x;           ///< [B, n, d]
  view<const Real, 1> a, b;        ///< [d]
  view<const double, 1> position;  ///< [n]
  bool minus = false;              ///< positions count negatively
};

/// y = a x + b position, [B, n, d].
template <class Real>
void scale(const execution& on, const scale_inputs<Real>& in, const view<Real, 3>& y);

/// Its adjoint. The sums of grad_a and grad_b are made in double, in the order of the tokens.
template <class Real>
struct scale_gradients {
  view<Real, 3> x;
  view<Real, 1> a, b;
};
template <class Real>
void scale_vjp(const execution& on, const scale_inputs<Real>& in, const view<const Real, 3>& grad_y,
               const scale_gradients<Real>& out);

}  // namespace assay::optimized::skeleton
