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

  /// Those of q_i and k_j by grad S_ij, and the slope of its cap; grad S_ij beneath the cap.
  R add(const attention_head<R>& head, std::size_t i, std::size_t j, R grad_logit, const R& slope) {
    using stage = attention_stage;
    grad_logit = taken_by(stage::scores, stage::softmax, grad_logit);
    if (head.cap) grad_logit = product_in(stage::scores, grad_logit, slope);
    const R scaled = product_in(stage::scores, head.scale, grad_logit);
    for (std::size_t c = 0; c < head.width; ++c) {
      q[i * head.width + c].add_product(scaled, head.k[j * head.width + c]);
      k[j * head.width + c].add_product(scaled, head.q[i * head.width + c]);
    }
    return grad_logit;
  }
};

/// What the heads of queries of a group hand on to an element of k or v, the one that they share. Programs add it up
/// over all of them, or head by head, each of which is stored where keys are repeated (repeat_kv of
/// huggingface/transformers). The reading that counts roundings takes what either may be off by.
template <class R>
R total_of_group(attention_stage stage, const std::vector<const accumulator<R>*>& of_heads, bool by_heads) {
  if (of_heads.size() == 1) return total_in(stage, *of_heads.front());
  const auto at_once = [&] {
    accumulator<R> all;
    for (const accumulator<R>* sum : of_heads) all.add(*sum);
    return total_in(stage, all);
  };
  const auto head_by_head = [&] {
    accumulator<R> all;
    for (const accumulator<R>* sum : of_heads) all.add(total_in(stage, *sum));
    return total_in(stage, all);
  };
  return by_heads ? head_by_head() : covering(at_once(), head_by_head);
}

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

/// Programs that subtract the maximum of a row with a sink as a step of the graph, as eager_attention_forward of
/// gpt-oss in huggingface/transformers does, take from grad S_ij of that logit what all of the row add up to: 0 but for
/// their errors. The reading that counts roundings takes what either may be off by, of each logit that may be the
/// largest.
template <class R>
void subtract_sum_at_maximum(std::vector<R>& grad_logits, const std::vector<R>& weights,
                             const attention_steps<R>& how) {
  using stage = attention_stage;
  const R& largest = weights[heaviest_of(weights)];
  accumulator<R> terms;
  for (const R& g : grad_logits) terms.add(taken_by(stage::scores, stage::softmax, g));
  const R sum = total_in(stage::scores, terms);
  const auto less_sum = [&](const R& grad_logit) {
    return in_stage<R>(
        stage::scores, [](const R& x, const R& y) { return x - y; }, grad_logit, sum);
  };
  if constexpr (std::is_same_v<R, tracked>) {
    const double least = largest.number - tracked::u() * largest.error;
    for (std::size_t j = 0; j < weights.size(); ++j)
      if (weights[j].number + tracked::u() * weights[j].error >= least)
        grad_logits[j] = covering(grad_logits[j], [&] { return less_sum(grad_logits[j]); });
  } else {
    bool is_asked = how.through_maximum;
    if constexpr (requires { R::takes_other_ways(); }) is_asked = is_asked || R::takes_other_ways();
    if (!is_asked) return;
    R& at_maximum = grad_logits[heaviest_of(weights)];
    at_maximum = less_sum(at_maximum);
  }
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
  const std::size_t m = head.keys, entries = m + (head.sink != nullptr ? 1 : 0);
  gradient_of_query<R> of{weights_of(head, logits, how), {cotangent, cotangent + head.value_width}, {}, {}};
  std::vector<R> along(entries, R(0.0));  // g_i . v_j
  of.hidden.resize(entries);
  for (std::size_t j = 0; j < entries; ++j) {
    of.hidden[j] = is_minus_infinity(j < m ? row[j] : *head.sink);
    if (of.hidden[j] || j == m) continue;
    accumulator<R> dot;
    for (std::size_t c = 0; c < head.value_width; ++c) dot.add_product(cotangent[c], head.v[j * head.value_width + c]);
    along[j] = total_in(stage::output, dot);
  }
  if constexpr (!computes_in_formats<R>) subtract_heaviest(along, of.weights, of.hidden);
  const R mean = mean_along(head, of.hidden, cotangent, of.weights, taken_by(stage::output, stage::softmax, of.weights),
                            along, how);
  const bool alone = std::count(of.hidden.begin(), of.hidden.end(), false) == 1;
  of.grad_logits.assign(entries, R(0.0));
  for (std::size_t j = 0; j < entries; ++j) {
    if (of.hidden[j]) continue;
    of.grad_logits[j] = in_stage<R>(stage::softmax, how.grad_logit, of.weights[j], along[j], mean);
    if (alone) of.grad_logits[j] = vanishing(of.grad_logits[j]);  // its weight is 1 whatever the logit is
  }
  if constexpr (computes_in_formats<R>)
    if (head.sink != nullptr && !alone) subtract_sum_at_maximum(of.grad_logits, of.weights, how);
  return of;
}

/// The same through o y, y = sigmoid(lse - sink), as automatic differentiation has it: o has the cotangent y g, and lse
/// that of y times y (1 - y), which loses what the sink takes beside 1.
template <class R>
gradient_of_query<R> query_vjp_beside_sink(const attention_head<R>& head, const R* row, const R* cotangent,
                                           const std::vector<R>& logits, const attention_steps<R>& how) {
  using stage = attention_stage;
  const R y = share_beside_sink(logits, *head.sink), factor = taken_by(stage::output, stage::softmax, y);
  std::vector<R> of_output;
  for (std::size_t c = 0; c < head.value_width; ++c)
    of_output.push_back(product_in(stage::output, cotangent[c], factor));
  gradient_of_query<R> of = query_vjp(without_sink(head), row, of_output.data(), logits, how);
  const std::vector<R> factors = taken_by(stage::output, stage::softmax, of.weights);
  accumulator<R> of_share;
  for (std::size_t c = 0; c < head.value_width; ++c) {
    accumulator<R> out;
    for (std::size_t j = 0; j < head.keys; ++j)
      if (!of.hidden[j]) out.add_product(factors[j], head.v[j * head.value_width + c]);
    of_share.add(product_in(stage::output, cotangent[c], total_in(stage::output, out)));
  }
  const auto through_sigmoid = [](const R& g, const R& share) { return g * (share * (R(1.0) - share)); };
  const auto plus_product = [](const R& sum, const R& u, const R& v) { return sum + u * v; };
  const R grad_lse = in_stage<R>(stage::softmax, through_sigmoid, total_in(stage::output, of_share), y);
  for (std::size_t j = 0; j < head.keys; ++j)
    if (!of.hidden[j])
      of.grad_logits[j] = in_stage<R>(stage::softmax, plus_product, of.grad_logits[j], of.weights[j], grad_lse);
  of.grad_logits.push_back(-grad_lse);
  of.hidden.push_back(is_minus_infinity(*head.sink));
  return of;
}

/// With the cotangents g_i of o_i: grad S_ij = P_ij (g_i . v_j - sum_l P_il g_i . v_l), 0 where b_ij = -inf, and for a
/// sink, whose g_i . v is 0; every row of it adds up to 0. on_logit(i, j, grad S_ij) is called for every pair that is
/// not kept apart, and with j = m for the sink.
template <class R, class OnLogit>
void attend_vjp(const attention_head<R>& head, const R* bias, const R* grad_out, attention_gradients<R>& gradients,
                const attention_steps<R>& how, OnLogit on_logit) {
  using stage = attention_stage;
  const std::size_t m = head.keys;
  const auto gradient = keeps_sink_apart(head, how) ? query_vjp_beside_sink<R> : query_vjp<R>;
  std::vector<R> slopes(m);
  for (std::size_t i = 0; i < head.queries; ++i) {
    const R* row = bias + i * m;
    const gradient_of_query<R> of =
        gradient(head, row, grad_out + i * head.value_width, attention_logits(head, i, row, how, &slopes), how);
    const std::vector<R> factors = taken_by(stage::output, stage::softmax, of.weights);  // of v
    for (std::size_t j = 0; j < of.grad_logits.size(); ++j) {
      if (of.hidden[j]) continue;
      const R& grad_logit = of.grad_logits[j];
      on_logit(i, j,
               j < m ? gradients.add(head, i, j, grad_logit, slopes[j])
                     : taken_by(stage::scores, stage::softmax, grad_logit));
      for (std::size_t c = 0; j < m && c < head.value_width; ++c)
        gradients.v[j * head.value_width + c].add_product(factors[j], of.cotangent[c]);
    }
  }
}

}  // namespace assay::reference
