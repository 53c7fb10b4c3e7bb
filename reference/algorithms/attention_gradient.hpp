// The gradient of one head of attention (attention.hpp), by its cotangents g_i of o_i.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "reference/algorithms/attention.hpp"

namespace assay::reference {

/// A number that is known to be 0 whatever its enclosure says; what arithmetic leaves of it stays in the readings of
/// arithmetic.
template <class R>
R vanishing(const R& x) {
  if constexpr (std::is_same_v<R, tracked>)
    return {0.0, x.error};
  else if constexpr (computes_in_formats<R>)
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

  /// Those of q_i and k_j by grad S_ij, which it gives as the stage of the scores takes it in.
  R add(const attention_head<R>& head, std::size_t i, std::size_t j, R grad_logit) {
    using stage = attention_stage;
    grad_logit = taken_by(stage::scores, stage::softmax, grad_logit);
    const R scaled = product_in(stage::scores, head.scale, grad_logit);
    for (std::size_t c = 0; c < head.width; ++c) {
      q[i * head.width + c].add_product(scaled, head.k[j * head.width + c]);
      k[j * head.width + c].add_product(scaled, head.q[i * head.width + c]);
    }
    return grad_logit;
  }
};

template <class R>
std::size_t heaviest_of(const std::vector<R>& weights) {
  std::size_t heaviest = 0;
  for (std::size_t j = 1; j < weights.size(); ++j)
    if (to_double(weights[j]) > to_double(weights[heaviest])) heaviest = j;
  return heaviest;
}

/// g_i . v_j of one query less that of the key with the most weight. The weights add up to 1, so nothing changes by it
/// but what cancels: where one key has nearly all the weight, g_i . v_j of that key and the mean agree in all digits
/// but the last, and their difference is what the others weigh. Proofs want all digits of it; readings that round are
/// left as programs are written.
template <class R>
void subtract_heaviest(std::vector<R>& along, const std::vector<R>& weights, const std::vector<bool>& hidden) {
  const std::size_t heaviest = heaviest_of(weights);
  if (along.empty() || !std::isfinite(to_double(along[heaviest]))) return;
  for (std::size_t j = 0; j < along.size(); ++j)
    if (j != heaviest && !hidden[j]) along[j] = along[j] - along[heaviest];
  along[heaviest] = R(0.0);
}

/// sum_l P_il g_i . v_l, the mean of `along`. Programs find it so, or as g_i . o_i from the output as it is stored,
/// which has the roundings of o_i [Dao, Fu, Ermon, Rudra and Re 2022, FlashAttention, arXiv 2205.14135, Algorithm 4].
/// The reading that counts roundings takes what either may be off by. `factors` are the weights as the product with v
/// takes them.
template <class R>
R mean_along(const attention_head<R>& head, const std::vector<bool>& hidden, const R* cotangent,
             const std::vector<R>& weights, const std::vector<R>& factors, const std::vector<R>& along,
             const attention_steps<R>& how) {
  using stage = attention_stage;
  const auto by_sum = [&] {
    accumulator<R> sum;
    for (std::size_t j = 0; j < weights.size(); ++j)
      if (!hidden[j]) sum.add_product(weights[j], along[j]);
    return total_in(stage::softmax, sum);
  };
  const auto by_output = [&] {
    accumulator<R> sum;
    for (std::size_t c = 0; c < head.value_width; ++c) {
      accumulator<R> out;
      for (std::size_t j = 0; j < head.keys; ++j)
        if (!hidden[j]) out.add_product(factors[j], head.v[j * head.value_width + c]);
      sum.add_product(cotangent[c], total_in(stage::output, out));
    }
    return total_in(stage::softmax, sum);
  };
  return how.mean_from_output ? by_output() : covering(by_sum(), by_output);
}

/// What one query hands on to values, by its weights and cotangent, and to logits.
template <class R>
struct gradient_of_query {
  std::vector<R> weights, cotangent, grad_logits;
  std::vector<bool> hidden;
};

template <class R>
gradient_of_query<R> query_vjp(const attention_head<R>& head, const R* row, const R* cotangent,
                               const std::vector<R>& logits, const attention_steps<R>& how) {
  using stage = attention_stage;
  const std::size_t m = head.keys;
  gradient_of_query<R> of{
      in_stage<R>(stage::softmax, how.weights, logits), {cotangent, cotangent + head.value_width}, {}, {}};
  std::vector<R> along(m, R(0.0));  // g_i . v_j
  of.hidden.resize(m);
  for (std::size_t j = 0; j < m; ++j) {
    of.hidden[j] = is_minus_infinity(row[j]);
    if (of.hidden[j]) continue;
    accumulator<R> dot;
    for (std::size_t c = 0; c < head.value_width; ++c) dot.add_product(cotangent[c], head.v[j * head.value_width + c]);
    along[j] = total_in(stage::output, dot);
  }
  if constexpr (!computes_in_formats<R>) subtract_heaviest(along, of.weights, of.hidden);
  const R mean = mean_along(head, of.hidden, cotangent, of.weights, taken_by(stage::output, stage::softmax, of.weights),
                            along, how);
  const bool alone = std::count(of.hidden.begin(), of.hidden.end(), false) == 1;
  of.grad_logits.assign(m, R(0.0));
  for (std::size_t j = 0; j < m; ++j) {
    if (of.hidden[j]) continue;
    of.grad_logits[j] = in_stage<R>(stage::softmax, how.grad_logit, of.weights[j], along[j], mean);
    if (alone) of.grad_logits[j] = vanishing(of.grad_logits[j]);  // its weight is 1 whatever the logit is
  }
  return of;
}

/// With the cotangents g_i of o_i: grad S_ij = P_ij (g_i . v_j - sum_l P_il g_i . v_l), 0 where b_ij = -inf; every row
/// of it adds up to 0. on_logit(i, j, grad S_ij) is called for every pair that is not kept apart.
template <class R, class OnLogit>
void attend_vjp(const attention_head<R>& head, const R* bias, const R* grad_out, attention_gradients<R>& gradients,
                const attention_steps<R>& how, OnLogit on_logit) {
  using stage = attention_stage;
  const std::size_t m = head.keys;
  for (std::size_t i = 0; i < head.queries; ++i) {
    const R* row = bias + i * m;
    const gradient_of_query<R> of =
        query_vjp(head, row, grad_out + i * head.value_width, attention_logits(head, i, row, how), how);
    const std::vector<R> factors = taken_by(stage::output, stage::softmax, of.weights);  // of v
    for (std::size_t j = 0; j < m; ++j) {
      if (of.hidden[j]) continue;
      on_logit(i, j, gradients.add(head, i, j, of.grad_logits[j]));
      for (std::size_t c = 0; c < head.value_width; ++c)
        gradients.v[j * head.value_width + c].add_product(factors[j], of.cotangent[c]);
    }
  }
}

}  // namespace assay::reference
