// Dot-product attention of one head with a bias of the logits, in double: what the operations of attention itself and
// of encodings that are observed through it share. Of f32 inputs every result is rounded about once.
#pragma once

#include <cstddef>
#include <vector>

#include "optimized/dispatch.hpp"
#include "optimized/views.hpp"

namespace assay::optimized {

/// The logits of a head are scale q k^T + bias. -inf in the bias, [n, m] in row-major order, keeps a key from a query.
template <class Real>
struct attention_head {
  view<const Real, 2> q;  ///< [n, d]
  view<const Real, 2> k;  ///< [m, d]
  view<const Real, 2> v;  ///< [m, e]
  const double* bias;
  double scale;
};

/// Of the shapes of q, k and v.
template <class Real>
struct attention_gradients {
  view<Real, 2> q, k, v;
};

/// o, [n, e]: means of the values with the weights of softmax(logits); 0 for a query without a key.
template <class Real>
void attend(const kernel_table& kernels, const attention_head<Real>& head, const view<Real, 2>& o);

/// Its adjoint, with the cotangents of o. grad_logits, [n, m] in row-major order, are overwritten.
template <class Real>
void attend_vjp(const kernel_table& kernels, const attention_head<Real>& head, const view<const Real, 2>& grad_o,
                const attention_gradients<Real>& grad, double* grad_logits);

/// 1 / sqrt(width), or 1.
double logit_scale(bool inverse_sqrt, std::size_t width);

}  // namespace assay::optimized
