// Dot-product attention of one head with a bias of the logits: what the operations of attention itself and of encodings
// that are observed through it share.
//
// Of f32 the logits, their differences, the sums of weights and the gradients of logits are doubles; exp, weights and
// what they multiply are of f32. So neither large logits nor a large bias cost digits. A head with rows of values,
// gradients, queries or keys so large or so small that products of them could leave the range of f32 is computed in
// double, as one is that asks for it, and each of its results is rounded about once.
// Bound of an output in f32 of m keys, to first order and where (d + 1) times the sum of |scale q k| and |bias| is
// below 2^24: 2^-24 (m + 2 log m + 5.2) max |v|. A weight is off by |l - largest l| + 1.57 units of 2^-24
// (kernels/softmax.ipp), the sum of weights by the mean of that, and the mean of |l - largest l| is at most log m; then
// the weight is rounded, and m products are added in any order.
#pragma once

#include <cstddef>
#include <functional>

#include "optimized/dispatch.hpp"
#include "optimized/views.hpp"

namespace assay::optimized {

/// The logits of a head are scale q k^T + bias.
template <class Real>
struct attention_head {
  view<const Real, 2> q;  ///< [n, d]
  view<const Real, 2> k;  ///< [m, d]
  view<const Real, 2> v;  ///< [m, e]
  double scale;
  /// Writes the bias of the queries [first, first + count), [count, m] in row-major order; -inf keeps a key from a
  /// query. Is called for consecutive blocks, from the first query on.
  std::function<void(std::size_t first, std::size_t count, double* bias)> write_bias;
  bool in_double = false;  ///< whatever Real is
};

/// Of the shapes of q, k and v.
template <class Real>
struct attention_gradients {
  view<Real, 2> q, k, v;
  /// Takes the gradients of the logits, as write_bias gives the bias.
  std::function<void(std::size_t first, std::size_t count, const double* gradients)> take_logits;
};

/// o, [n, e]: means of the values with the weights of softmax(logits); 0 for a query without a key.
template <class Real>
void attend(const kernel_table& kernels, const attention_head<Real>& head, const view<Real, 2>& o);

/// Its adjoint, with the cotangents of o.
template <class Real>
void attend_vjp(const kernel_table& kernels, const attention_head<Real>& head, const view<const Real, 2>& grad_o,
                const attention_gradients<Real>& grad);

/// 1 / sqrt(width), or 1.
double logit_scale(bool inverse_sqrt, std::size_t width);

}  // namespace assay::optimized
