// Dot-product attention with an additive bias on arrays (Vaswani et al. 2017, section 3.2.1).
//
// Views, results and threads are as of encodings/heinsen.hpp. Of f32 logits are computed in double, what their weights
// multiply in f32 (optimized/attention.hpp). Logits of keys that are kept apart are not read: NaN and infinities there
// stay where they are.
#pragma once

#include "optimized/dispatch.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::attention {

template <class Real>
struct inputs {
  view<const Real, 4> q;     ///< [B, heads, n, d]
  view<const Real, 4> k;     ///< [B, heads, m, d]
  view<const Real, 4> v;     ///< [B, heads, m, e]
  view<const Real, 3> bias;  ///< [heads, n, m]; -inf keeps a key from a query
  bool inverse_sqrt = true;  ///< the products are divided by sqrt(d)
};

/// Of the shapes of the inputs.
template <class Real>
struct gradients {
  view<Real, 4> q, k, v;
  view<Real, 3> bias;
};

/// o, [B, heads, n, e]: means of the values with the weights of softmax(q k^T / sqrt(d) + bias); 0 for a query without
/// a key.
template <class Real>
void output(const execution& on, const inputs<Real>& in, const view<Real, 4>& o);

/// Its adjoint.
template <class Real>
void output_vjp(const execution& on, const inputs<Real>& in, const view<const Real, 4>& grad_o,
                const gradients<Real>& out);

}  // namespace assay::optimized::attention
