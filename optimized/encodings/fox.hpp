// Forgetting attention on arrays (Lin et al., "Forgetting Transformer", 2025, arXiv 2503.02130, section 3): the
// logit of query i and key j <= i is decayed by D_ij = log f_{j+1} + ... + log f_i.
//
// The rules for views, results and threads are those of encodings/heinsen.hpp. Every D is rounded about once, at any
// distance. log f = -inf affects only the pairs that it separates. Outputs of attention are computed in double and
// rounded about once. For gradients, see encodings/attention.hpp.
#pragma once

#include "optimized/dispatch.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::fox {

/// Computes D, [B, heads, n, n], from log f, [B, n, heads]. D is -inf above the diagonal.
///
///     fox::decay<float>(process_execution(), dense<const float, 3>(log_gates.data(), {B, n, heads}),
///                       dense<float, 4>(D.data(), {B, heads, n, n}));
template <class Real>
void decay(const execution& on, const view<const Real, 3>& log_f, const view<Real, 4>& D);
/// The adjoint of decay. Cotangents above and on the diagonal are not read.
template <class Real>
void decay_vjp(const execution& on, const view<const Real, 4>& grad_D, const view<Real, 3>& grad_log_f);

/// The same functions for log f = log sigmoid(g).
///
///     fox::gated_decay<float>(process_execution(), dense<const float, 3>(gates.data(), {B, n, heads}),
///                             dense<float, 4>(D.data(), {B, heads, n, n}));
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

/// Each gradient has the shape of its input.
template <class Real>
struct attention_gradients {
  view<Real, 4> q, k, v;
  view<Real, 3> log_f;
};

/// Computes o, [B, heads, n, e]: the means of the values with the weights softmax(q k^T / sqrt(d) + D).
///
///     const view<const float, 3> log_f = dense<const float, 3>(log_gates.data(), {B, n, heads});
///     fox::attention<float>(process_execution(), {q, k, v, log_f}, o);
template <class Real>
void attention(const execution& on, const attention_inputs<Real>& in, const view<Real, 4>& o);
/// The adjoint of attention.
///
///     fox::attention_vjp<float>(process_execution(), {q, k, v, log_f}, grad_o, {grad_q, grad_k, grad_v, grad_log_f});
template <class Real>
void attention_vjp(const execution& on, const attention_inputs<Real>& in, const view<const Real, 4>& grad_o,
                   const attention_gradients<Real>& out);

}  // namespace assay::optimized::fox
