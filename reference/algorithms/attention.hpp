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
#include <vector>

#include "reference/algorithms/attention_stage.hpp"
#include "reference/primitives/hyperbolic.hpp"
#include "reference/readings/adjoint.hpp"

namespace assay::reference {

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

/// log sum_j exp(S_j) of a row with a key that is not hidden; the shift is exact in every reading.
template <class R>
R log_sum_of_row(const std::vector<R>& logits) {
  double shift = -std::numeric_limits<double>::infinity();
  for (const R& s : logits)
    if (const double x = to_double(s); x > shift || std::isnan(x)) shift = x;
  accumulator<R> sum;
  for (const R& s : logits)
    if (!is_minus_infinity(s)) sum.add(exp(s - R(shift)));
  return R(shift) + log(sum.total());
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
  bool through_maximum = false;   ///< see subtract_maximum and subtract_sum_at_maximum
  bool sink_apart = false;        ///< see share_beside_sink
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

/// Programs that join the sink to the logits before the softmax, as eager_attention_forward of gpt-oss in
/// huggingface/transformers does, subtract their maximum in the format of the scores. The reading that counts roundings
/// takes what either may be off by.
template <class R>
void subtract_maximum(std::vector<R>& logits, const attention_steps<R>& how) {
  double shift = -std::numeric_limits<double>::infinity();
  for (const R& s : logits) shift = std::max(shift, to_double(s));
  if (!std::isfinite(shift)) return;
  for (R& s : logits) {
    if (is_minus_infinity(s)) continue;
    const auto less_maximum = [&] {
      return in_stage<R>(
          attention_stage::scores, [](const R& x, const R& y) { return x - y; }, s, R(shift));
    };
    s = how.through_maximum ? less_maximum() : covering(s, less_maximum);
  }
}

/// The weights of a row of logits, and that of the sink behind them where there is one.
template <class R>
std::vector<R> weights_of(const attention_head<R>& head, std::vector<R> logits, const attention_steps<R>& how) {
  if (head.sink != nullptr) {
    logits.push_back(*head.sink);
    if constexpr (computes_in_formats<R>) subtract_maximum(logits, how);
  }
  return in_stage<R>(attention_stage::softmax, how.weights, logits);
}

/// What a sink leaves of the output of the keys alone, o sigmoid(lse - sink): so have it programs whose kernel gives o
/// and lse (pytorch/torchtitan). Nothing where the query sees no key.
template <class R>
R share_beside_sink(const std::vector<R>& logits, const R& sink) {
  if (std::all_of(logits.begin(), logits.end(), [](const R& s) { return is_minus_infinity(s); })) return R(0.0);
  const auto share = [](const std::vector<R>& s, const R& x) { return sigmoid(log_sum_of_row(s) - x); };
  return in_stage<R>(attention_stage::softmax, share, logits, sink);
}
template <class R>
bool keeps_sink_apart(const attention_head<R>& head, const attention_steps<R>& how) {
  return head.sink != nullptr && how.sink_apart;
}
template <class R>
attention_head<R> without_sink(attention_head<R> head) {
  head.sink = nullptr;
  return head;
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
  const bool apart = keeps_sink_apart(head, how);
  for (std::size_t i = 0; i < head.queries; ++i) {
    const std::vector<R> logits = attention_logits(head, i, bias + i * head.keys, how);
    const std::vector<R> weights =
        taken_by(stage::output, stage::softmax, weights_of(apart ? without_sink(head) : head, logits, how));
    const R share = apart ? taken_by(stage::output, stage::softmax, share_beside_sink(logits, *head.sink)) : R(1.0);
    for (std::size_t c = 0; c < head.value_width; ++c) {
      accumulator<R> sum;
      for (std::size_t j = 0; j < head.keys; ++j)
        if (!is_minus_infinity(bias[i * head.keys + j])) sum.add_product(weights[j], head.v[j * head.value_width + c]);
      R& o = out[i * head.value_width + c];
      o = total_in(stage::output, sum);
      if (apart) o = product_in(stage::output, o, share);
    }
  }
}

}  // namespace assay::reference
