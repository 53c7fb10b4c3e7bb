// One head of dot-product attention with a logit bias (Vaswani et al. 2017, section 3.2.1; Press et al. 2022, section
// 3):
//
//   S_ij = scale q_i . k_j + b_ij,   P_ij = exp(S_ij) / sum_l exp(S_il),   o_i = sum_j P_ij v_j
//
// b_ij = -inf keeps key j from query i: P_ij = 0, whatever k_j and v_j are. A query that no key is left for has o = 0
// and gradients 0, as fused kernels have it. Adding one number to a row of b changes nothing.
//
// A soft cap c makes c tanh(S / c) of each S_ij that is not hidden (Gemma 2, arXiv 2408.00118, section 2). A sink is
// the logit of one more key, which has no value: its weight goes to nobody (Xiao et al. 2023, arXiv 2309.17453).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "reference/primitives/hyperbolic.hpp"
#include "reference/readings/adjoint.hpp"

namespace assay::reference {

/// What of attention has a format of its own, in the order of attention_stages().
enum class attention_stage { scores, softmax, output, accumulation };

/// Contiguous arrays of one head: q [n, d], k [m, d], v [m, e].
template <class R>
struct attention_head {
  std::size_t queries, keys, width, value_width;
  R scale;
  const R *q, *k, *v;
  std::optional<R> cap{};
  const R* sink = nullptr;
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
  /// c tanh(s / c), and its slope 1 - tanh^2(s / c).
  R(*capped)
  (const R& s, const R& cap) = [](const R& s, const R& cap) { return cap * tanh(s / cap); };
  R(*slope_of_cap)
  (const R& s, const R& cap) = [](const R& s, const R& cap) {
    if constexpr (!computes_in_formats<R>) return tanh_slope(s / cap);
    const R t = tanh(s / cap);
    return R(1.0) - t * t;
  };
  /// From the weight, g_i . v_j and the mean of those.
  R(*grad_logit)
  (const R& weight, const R& along, const R& mean) = [](const R& weight, const R& along, const R& mean) {
    return weight * (along - mean);
  };
  bool mean_from_output = false;  ///< see mean_along
  bool by_heads = false;          ///< see total_of_group
  bool through_maximum = false;   ///< see subtract_sum_at_maximum
};

/// Those of the adjoint of a head (attend_vjp), which are of the reading beneath.
template <class R>
struct attention_steps<adjoint<R>> : attention_steps<R> {};

/// The logits of query i; `bias` is its row, [m]. slopes [m]: of the caps.
template <class R>
std::vector<R> attention_logits(const attention_head<R>& head, std::size_t i, const R* bias,
                                const attention_steps<R>& how, std::vector<R>* slopes = nullptr) {
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
    if (!head.cap || is_minus_infinity(bias[j])) continue;
    if (slopes != nullptr) (*slopes)[j] = in_stage<R>(attention_stage::scores, how.slope_of_cap, logits[j], *head.cap);
    logits[j] = in_stage<R>(attention_stage::scores, how.capped, logits[j], *head.cap);
  }
  return logits;
}

/// The weights of a row of logits, and that of the sink behind them where there is one.
template <class R>
std::vector<R> weights_of(const attention_head<R>& head, std::vector<R> logits, const attention_steps<R>& how) {
  if (head.sink != nullptr) logits.push_back(*head.sink);
  return in_stage<R>(attention_stage::softmax, how.weights, logits);
}

/// out [n, e]; bias [n, m].
template <class R>
void attend(const attention_head<R>& head, const R* bias, R* out, const attention_steps<R>& how) {
  for (std::size_t i = 0; i < head.queries; ++i) {
    const std::vector<R> weights =
        taken_by(attention_stage::output, attention_stage::softmax,
                 weights_of(head, attention_logits(head, i, bias + i * head.keys, how), how));
    for (std::size_t c = 0; c < head.value_width; ++c) {
      accumulator<R> sum;
      for (std::size_t j = 0; j < head.keys; ++j)
        if (!is_minus_infinity(bias[i * head.keys + j])) sum.add_product(weights[j], head.v[j * head.value_width + c]);
      out[i * head.value_width + c] = total_in(attention_stage::output, sum);
    }
  }
}

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

template <class R>
R product_in(attention_stage stage, const R& x, const R& y) {
  return in_stage<R>(
      stage, [](const R& a, const R& b) { return a * b; }, x, y);
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
  } else if (how.through_maximum) {
    R& at_maximum = grad_logits[heaviest_of(weights)];
    at_maximum = less_sum(at_maximum);
  }
}

/// With the cotangents g_i of o_i: grad S_ij = P_ij (g_i . v_j - sum_l P_il g_i . v_l), 0 where b_ij = -inf, and for a
/// sink, whose g_i . v is 0; every row of it adds up to 0. on_logit(i, j, grad S_ij) is called for every pair that is
/// not kept apart, and with j = m for the sink.
template <class R, class OnLogit>
void attend_vjp(const attention_head<R>& head, const R* bias, const R* grad_out, attention_gradients<R>& gradients,
                const attention_steps<R>& how, OnLogit on_logit) {
  using stage = attention_stage;
  const std::size_t m = head.keys, entries = m + (head.sink != nullptr ? 1 : 0);
  std::vector<R> slopes(m);
  for (std::size_t i = 0; i < head.queries; ++i) {
    const R* row = bias + i * m;
    const R* cotangent = grad_out + i * head.value_width;
    const std::vector<R> weights = weights_of(head, attention_logits(head, i, row, how, &slopes), how);
    const std::vector<R> factors = taken_by(stage::output, stage::softmax, weights);  // of v
    std::vector<R> along(entries, R(0.0));                                            // g_i . v_j
    std::vector<bool> hidden(entries);
    for (std::size_t j = 0; j < entries; ++j) {
      hidden[j] = is_minus_infinity(j < m ? row[j] : *head.sink);
      if (hidden[j] || j == m) continue;
      accumulator<R> dot;
      for (std::size_t c = 0; c < head.value_width; ++c)
        dot.add_product(cotangent[c], head.v[j * head.value_width + c]);
      along[j] = total_in(stage::output, dot);
    }
    if constexpr (!computes_in_formats<R>) subtract_heaviest(along, weights, hidden);
    const R mean = mean_along(head, hidden, cotangent, weights, factors, along, how);
    const bool alone = std::count(hidden.begin(), hidden.end(), false) == 1;
    std::vector<R> grad_logits(entries, R(0.0));
    for (std::size_t j = 0; j < entries; ++j) {
      if (hidden[j]) continue;
      grad_logits[j] = in_stage<R>(stage::softmax, how.grad_logit, weights[j], along[j], mean);
      if (alone) grad_logits[j] = vanishing(grad_logits[j]);  // its weight is 1 whatever the logit is
    }
    if constexpr (computes_in_formats<R>)
      if (head.sink != nullptr && !alone) subtract_sum_at_maximum(grad_logits, weights, how);
    for (std::size_t j = 0; j < entries; ++j) {
      if (hidden[j]) continue;
      const R& grad_logit = grad_logits[j];
      on_logit(i, j,
               j < m ? gradients.add(head, i, j, grad_logit, slopes[j])
                     : taken_by(stage::scores, stage::softmax, grad_logit));
      for (std::size_t c = 0; j < m && c < head.value_width; ++c)
        gradients.v[j * head.value_width + c].add_product(factors[j], cotangent[c]);
    }
  }
}

}  // namespace assay::reference
