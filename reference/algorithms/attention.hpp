// One head of dot-product attention with a logit bias (Vaswani et al. 2017, section 3.2.1; Press et al. 2022, section
// 3):
//
//   S_ij = scale q_i . k_j + b_ij,   P_ij = exp(S_ij) / sum_l exp(S_il),   o_i = sum_j P_ij v_j
//
// b_ij = -inf keeps key j from query i: P_ij = 0, whatever k_j and v_j are. A query that no key is left for has o = 0
// and gradients 0, as fused kernels have it. Adding one number to a row of b changes nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/readings/reading.hpp"

namespace assay::reference {

/// Contiguous arrays of one head: q [n, d], k [m, d], v [m, e].
template <class R>
struct attention_head {
  std::size_t queries, keys, width, value_width;
  R scale;
  const R *q, *k, *v;
};

/// The weights P of one row of logits. The shift is a double, so it is exact in every reading and cancels.
template <class R>
std::vector<R> softmax(const std::vector<R>& logits) {
  double shift = -std::numeric_limits<double>::infinity();
  for (const R& s : logits)
    if (const double x = to_double(s); !(x <= shift)) shift = x;
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

/// The factor of q . k for a setting `scale`.
template <class R>
R logit_scale(const std::string& setting, std::size_t width) {
  const bool scaled = core::chosen<bool>(setting, {{"inverse_sqrt", true}, {"one", false}});
  return scaled && width > 0 ? power(R(static_cast<double>(width)), ratio(-1, 2)) : R(1.0);
}

inline core::attribute_declaration scale_attribute() {
  using std::string;
  return {.name = "scale",
          .meaning = "factor of q . k",
          .standard = string("inverse_sqrt"),
          .values = {string("inverse_sqrt"), string("one")}};
}

/// What of a row of attention mutants and other algorithms replace.
template <class R>
struct attention_recipe {
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
};

/// The weights of query i; `bias` is its row, [m].
template <class R>
std::vector<R> attention_weights(const attention_head<R>& head, std::size_t i, const R* bias,
                                 const attention_recipe<R>& how) {
  std::vector<R> logits(head.keys);
  for (std::size_t j = 0; j < head.keys; ++j) {
    accumulator<R> product;
    for (std::size_t c = 0; c < head.width; ++c)
      product.add_product(head.q[i * head.width + c], head.k[j * head.width + c]);
    logits[j] = is_minus_infinity(bias[j]) ? bias[j] : how.logit(product.total(), bias[j], head.scale);
  }
  return how.weights(logits);
}

/// out [n, e]; bias [n, m].
template <class R>
void attend(const attention_head<R>& head, const R* bias, R* out, const attention_recipe<R>& how) {
  for (std::size_t i = 0; i < head.queries; ++i) {
    const std::vector<R> weights = attention_weights(head, i, bias + i * head.keys, how);
    for (std::size_t c = 0; c < head.value_width; ++c) {
      accumulator<R> sum;
      for (std::size_t j = 0; j < head.keys; ++j)
        if (!is_minus_infinity(bias[i * head.keys + j])) sum.add_product(weights[j], head.v[j * head.value_width + c]);
      out[i * head.value_width + c] = sum.total();
    }
  }
}

/// A number that is known to be 0 whatever its enclosure says; what arithmetic leaves of it stays in the readings of
/// arithmetic.
template <class R>
R vanishing(const R& x) {
  if constexpr (requires { R::tau; })
    return {0.0, x.error};
  else if constexpr (requires { R::round(0.0); })
    return x;
  else
    return R(0.0);
}

/// Sums over queries (and, of the bias, over whatever shares it), to which attend_vjp adds.
template <class R>
struct attention_gradients {
  std::vector<accumulator<R>> q, k, v;  ///< of a head: [n, d], [m, d], [m, e]
  explicit attention_gradients(const attention_head<R>& head)
      : q(head.queries * head.width), k(head.keys * head.width), v(head.keys * head.value_width) {}
  /// The totals as head `index` of arrays of all heads.
  void store_head(std::size_t index, field<R>& grad_q, field<R>& grad_k, field<R>& grad_v) const {
    const auto store = [index](const std::vector<accumulator<R>>& from, field<R>& to) {
      for (std::size_t i = 0; i < from.size(); ++i) to.storage()[index * from.size() + i] = from[i].total();
    };
    store(q, grad_q), store(k, grad_k), store(v, grad_v);
  }
};

/// With the cotangents g_i of o_i: grad S_ij = P_ij (g_i . v_j - sum_l P_il g_i . v_l), 0 where b_ij = -inf; every row
/// of it adds up to 0. on_logit(i, j, grad S_ij) is called for every pair that is not kept apart.
template <class R, class OnLogit>
void attend_vjp(const attention_head<R>& head, const R* bias, const R* grad_out, attention_gradients<R>& gradients,
                const attention_recipe<R>& how, OnLogit on_logit) {
  std::vector<R> along(head.keys);  // g_i . v_j
  for (std::size_t i = 0; i < head.queries; ++i) {
    const R* row = bias + i * head.keys;
    const R* cotangent = grad_out + i * head.value_width;
    const std::vector<R> weights = attention_weights(head, i, row, how);
    accumulator<R> mean;
    std::size_t keys_seen = 0;
    for (std::size_t j = 0; j < head.keys; ++j) {
      if (is_minus_infinity(row[j])) continue;
      ++keys_seen;
      accumulator<R> dot;
      for (std::size_t c = 0; c < head.value_width; ++c)
        dot.add_product(cotangent[c], head.v[j * head.value_width + c]);
      along[j] = dot.total();
      mean.add_product(weights[j], along[j]);
    }
    for (std::size_t j = 0; j < head.keys; ++j) {
      if (is_minus_infinity(row[j])) continue;
      R grad_logit = how.grad_logit(weights[j], along[j], mean.total());
      if (keys_seen == 1) grad_logit = vanishing(grad_logit);  // its weight is 1 whatever the logit is
      const R scaled = head.scale * grad_logit;
      for (std::size_t c = 0; c < head.width; ++c) {
        gradients.q[i * head.width + c].add_product(scaled, head.k[j * head.width + c]);
        gradients.k[j * head.width + c].add_product(scaled, head.q[i * head.width + c]);
      }
      for (std::size_t c = 0; c < head.value_width; ++c)
        gradients.v[j * head.value_width + c].add_product(weights[j], cotangent[c]);
      on_logit(i, j, grad_logit);
    }
  }
}

}  // namespace assay::reference
