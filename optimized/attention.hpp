// Dot-product attention of one head with a bias of the logits. The attention operations share this code with the
// encodings that are observed through attention.
//
// For f32 inputs, the logits, their differences, the sums of weights and the gradients of logits are doubles. exp, the
// weights and the numbers that the weights multiply are f32. Neither large logits nor a large bias therefore cost
// digits. A head is computed in double if products of its rows of values, gradients, queries or keys could leave the
// range of f32, or if the caller asks for double. Each result of such a head is rounded about once.
// The bound of an f32 output of m keys is 2^-24 (m + 2 log m + 5.2) max |v|. It holds to first order, where (d + 1)
// times the sum of |scale q k| and |bias| is below 2^24. A weight has an error of |l - largest l| + 1.57 units of 2^-24
// (kernels/softmax.ipp). The error of the sum of weights is the mean of the weights' errors, and the mean of |l -
// largest l| is at most log m. After that the weight is rounded, and m products are added in any order.
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
  /// Writes the bias of the queries [first, first + count), as [count, m] in row-major order; -inf hides a key from a
  /// query. The function is called for consecutive blocks, from the first query to the last.
  std::function<void(std::size_t first, std::size_t count, double* bias)> write_bias;
  bool in_double = false;  ///< compute in double even if Real is float
};

/// Each gradient has the shape of its input (q, k or v).
template <class Real>
struct attention_gradients {
  view<Real, 2> q, k, v;
  /// Takes the gradients of the logits, in the same layout and order as write_bias gives the bias.
  std::function<void(std::size_t first, std::size_t count, const double* gradients)> take_logits;
};

/// Computes o, [n, e]: the means of the values with the weights softmax(logits). A query without a key gets 0.
template <class Real>
void attend(const kernel_table& kernels, const attention_head<Real>& head, const view<Real, 2>& o);

/// The adjoint of attend, for the cotangents of o.
template <class Real>
void attend_vjp(const kernel_table& kernels, const attention_head<Real>& head, const view<const Real, 2>& grad_o,
                const attention_gradients<Real>& grad);

/// Returns 1 / sqrt(width) if `inverse_sqrt` is true, else 1.
double logit_scale(bool inverse_sqrt, std::size_t width);

}  // namespace assay::optimized
