// Dot-product attention with an additive bias on arrays (Vaswani et al. 2017, section 3.2.1).
//
// The rules for views, results and threads are those of encodings/heinsen.hpp. For f32, logits are computed in double,
// and the numbers that the weights multiply are f32 (optimized/attention.hpp). The logits of masked keys are not read,
// so a NaN or an infinity of such a key has no effect on the query.
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

/// Each gradient has the shape of its input.
template <class Real>
struct gradients {
  view<Real, 4> q, k, v;
  view<Real, 3> bias;
};

/// Computes o, [B, heads, n, e]: the means of the values with the weights softmax(q k^T / sqrt(d) + bias). A query
/// without a key gets 0.
///
///     const view<const float, 4> q = dense<const float, 4>(queries.data(), {B, heads, n, d});  // k, v and o likewise
///     attention::output<float>(process_execution(), {q, k, v, bias}, o);
template <class Real>
void output(const execution& on, const inputs<Real>& in, const view<Real, 4>& o);

/// The adjoint of output.
///
///     attention::output_vjp<float>(process_execution(), {q, k, v, bias}, grad_o, {grad_q, grad_k, grad_v, grad_bias});
template <class Real>
void output_vjp(const execution& on, const inputs<Real>& in, const view<const Real, 4>& grad_o,
                const gradients<Real>& out);

}  // namespace assay::optimized::attention
