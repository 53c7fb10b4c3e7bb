// One head of dot-product attention with a logit bias (Vaswani et al. 2017, section 3.2.1; Press et al. 2022, section
// 3):
//
//   S_ij = scale q_i . k_j + b_ij,   P_ij = exp(S_ij) / sum_l exp(S_il),   o_i = sum_j P_ij v_j
//
// b_ij = -inf keeps key j from query i: P_ij = 0, whatever k_j and v_j are. A query that no key is left for has o = 0
// and gradients 0, as fused kernels have it. Adding one number to a row of b changes nothing.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "reference/algorithms/attention_stage.hpp"
#include "reference/readings/adjoint.hpp"

namespace assay::reference {

/// Contiguous arrays of one head: q [n, d], k [m, d], v [m, e].
template <class R>
struct attention_head {
  std::size_t queries, keys, width, value_width;
  R scale;
  const R *q, *k, *v;
};

/// The weights P of one row of logits. The shift is a double, so it is exact in every reading and cancels. A NaN among
/// the logits is the shift from then on.
template <class R>
std::vector<R> softmax(const std::vector<R>& logits) {
  double shift = -std::numeric_limits<double>::infinity();
  for (const R& s : logits)
    if (const double x = to_double(s); x > shift || std::isnan(x)) shift = x;
  std::vector<R> weights(logits.size(), R(0.0));
  if (std::isinf(shift) && shift < 0.0) return weights;
  accumulator<R> sum;
  for (std::size_t j = 0; j < logits.size(); ++j) {
    if (is_minus_infinity(logits[j])) continue;
    weights[j] = exp(logits[j] - R(shift));
    sum.add(weights[j]);
  }
  const R total = sum.total();
  for (std::size_t j = 0; j < logits.size(); ++j)
    if (!is_minus_infinity(logits[j])) weights[j] = weights[j] / total;
  return weights;
}

/// What of a row of attention mutants and other algorithms replace.
template <class R>
struct attention_steps {
  std::vector<R> (*weights)(const std::vector<R>& logits) = softmax<R>;
  R(*logit)
  (const R& product, const R& bias, const R& scale) = [](const R& product, const R& bias, const R& scale) {
    return scale * product + bias;
  };
  /// From the weight, g_i . v_j and the mean of those.
  R(*grad_logit)
  (const R& weight, const R& along, const R& mean) = [](const R& weight, const R& along, const R& mean) {
    return weight * (along - mean);
  };
  bool mean_from_output = false;  ///< see mean_along
};

/// Those of the adjoint of a head (attend_vjp), which are of the reading beneath.
template <class R>
struct attention_steps<adjoint<R>> : attention_steps<R> {};

/// The logits of query i; `bias` is its row, [m].
template <class R>
std::vector<R> attention_logits(const attention_head<R>& head, std::size_t i, const R* bias,
                                const attention_steps<R>& how) {
  std::vector<R> logits(head.keys);
  for (std::size_t j = 0; j < head.keys; ++j) {
    accumulator<R> product;
    for (std::size_t c = 0; c < head.width; ++c)
      product.add_product(head.q[i * head.width + c], head.k[j * head.width + c]);
    const auto logit = [&](const accumulator<R>& dot, const R& b, const R& scale) {
      return how.logit(dot.total(), b, scale);
    };
    logits[j] = is_minus_infinity(bias[j]) ? bias[j]
                                           : in_stage<R>(attention_stage::scores, logit, product, bias[j], head.scale);
  }
  return logits;
}

template <class R>
R product_in(attention_stage stage, const R& x, const R& y) {
  return in_stage<R>(
      stage, [](const R& a, const R& b) { return a * b; }, x, y);
}

/// out [n, e]; bias [n, m].
template <class R>
void attend(const attention_head<R>& head, const R* bias, R* out, const attention_steps<R>& how) {
  using stage = attention_stage;
  for (std::size_t i = 0; i < head.queries; ++i) {
    const std::vector<R> logits = attention_logits(head, i, bias + i * head.keys, how);
    const std::vector<R> weights =
        taken_by(stage::output, stage::softmax, in_stage<R>(stage::softmax, how.weights, logits));
    for (std::size_t c = 0; c < head.value_width; ++c) {
      accumulator<R> sum;
      for (std::size_t j = 0; j < head.keys; ++j)
        if (!is_minus_infinity(bias[i * head.keys + j])) sum.add_product(weights[j], head.v[j * head.value_width + c]);
      out[i * head.value_width + c] = total_in(stage::output, sum);
    }
  }
}

}  // namespace assay::reference
