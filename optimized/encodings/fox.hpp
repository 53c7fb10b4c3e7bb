// Forgetting attention on arrays (Lin et al., "Forgetting Transformer", 2025, arXiv 2503.02130, section 3): the
// logit of query i and key j <= i is decayed by D_ij = log f_{j+1} + ... + log f_i.
//
// Views, results and threads are as of encodings/heinsen.hpp. Every D is rounded about once, at any distance, and
// log f = -inf stays among the pairs that it separates. Outputs of attention are computed in double, and
// rounded about once; gradients as encodings/attention.hpp says.
#pragma once

#include "optimized/dispatch.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::fox {

/// D, [B, heads, n, n], of log f, [B, n, heads]; -inf above the diagonal.
template <class Real>
void decay(const execution& on, const view<const Real, 3>& log_f, const view<Real, 4>& D);
/// Its adjoint. Cotangents above and on the diagonal are not read.
template <class Real>
void decay_vjp(const execution& on, const view<const Real, 4>& grad_D, const view<Real, 3>& grad_log_f);

/// For log f = log sigmoid(g).
template <class Real>
void gated_decay(const execution& on, const view<const Real, 3>& g, const view<Real, 4>& D);
template <class Real>
void gated_decay_vjp(const execution& on, const view<const Real, 3>& g, const view<const Real, 4>& grad_D,
                     const view<Real, 3>& grad_g);

template <class Real>
struct attention_inputs {
  view<const Real, 4> q;      ///< [B, heads, n, d]
  view<const Real, 4> k;      ///< [B, heads, n, d]
  view<const Real, 4> v;      ///< [B, heads, n, e]
  view<const Real, 3> log_f;  ///< [B, n, heads]
  bool inverse_sqrt = true;   ///< the products are divided by sqrt(d)
};

/// Of the shapes of the inputs.
template <class Real>
struct attention_gradients {
  view<Real, 4> q, k, v;
  view<Real, 3> log_f;
};

/// o, [B, heads, n, e]: means of the values with the weights of softmax(q k^T / sqrt(d) + D).
template <class Real>
void attention(const execution& on, const attention_inputs<Real>& in, const view<Real, 4>& o);
/// Its adjoint.
template <class Real>
void attention_vjp(const execution& on, const attention_inputs<Real>& in, const view<const Real, 4>& grad_o,
                   const attention_gradients<Real>& out);

}  // namespace assay::optimized::fox
