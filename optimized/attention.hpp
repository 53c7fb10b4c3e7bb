// Dot-product attention of one head with a bias of the logits, in double: what the operations of attention itself and
// of encodings that are observed through it share. Of f32 inputs every result is rounded about once.
#pragma once

#include <cstddef>
#include <vector>

namespace assay::optimized {

/// q [n, d], k [m, d], v [m, e], bias [n, m]; -inf in the bias keeps a key from a query.
struct attention_head {
  std::size_t queries, keys, width, value_width;
  double scale;
  const double *q, *k, *v, *bias;
};

/// grad_q, grad_k, grad_v of the shapes of q, k, v; grad_logits [n, m]. All are overwritten.
struct attention_gradients {
  std::vector<double> q, k, v, logits;
  /// Into arrays of all heads, as head `index`.
  void store_head(std::size_t index, std::vector<double>& all_q, std::vector<double>& all_k, std::vector<double>& all_v,
                  std::vector<double>& all_logits) const;
};

/// o [n, e]: means of the values with the weights of softmax(scale q k^T + bias); 0 for a query without a key. As of
/// the adjoint: active_target() must be no error.
void attend(const attention_head& head, double* out);

/// With the cotangents of o, [n, e].
attention_gradients attend_vjp(const attention_head& head, const double* grad_out);

/// 1 / sqrt(width) for the setting "inverse_sqrt", else 1.
double logit_scale(bool inverse_sqrt, std::size_t width);

}  // namespace assay::optimized
