// Wrong and right ways from the logits of a row to its weights.
#include <algorithm>

#include "properties/encodings/attention/mutants/mutants.hpp"

namespace assay::properties::encodings::attention {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary

using core::infinity;

// Blocks of four keys, the last one filled up with keys of logit 0 and value 0.
std::vector<R> with_padded_keys(const std::vector<R>& logits) {
  std::vector<R> padded = logits;
  while (padded.size() % 4 != 0) padded.push_back(R(0.0));
  padded = weights_by_shift(padded, largest_of(padded));
  padded.resize(logits.size());
  return padded;
}

std::vector<R> masked_after_softmax(const std::vector<R>& logits) {
  std::vector<R> seen = logits;
  for (R& s : seen)
    if (is_minus_infinity(s)) s = R(0.0);
  std::vector<R> weights = weights_by_shift(seen, largest_of(seen));
  for (std::size_t j = 0; j < logits.size(); ++j)
    if (is_minus_infinity(logits[j])) weights[j] = R(0.0);
  return weights;
}

std::vector<R> divided_by_keys(const std::vector<R>& logits) {
  std::vector<R> weights(logits.size(), R(0.0));
  const R shift = largest_of(logits), count(static_cast<double>(logits.size()));
  for (std::size_t j = 0; j < logits.size(); ++j)
    if (!is_minus_infinity(logits[j])) weights[j] = exp(logits[j] - shift) / count;
  return weights;
}

// Online softmax that forgets to rescale what it has when a larger logit comes.
std::vector<R> never_rescaled(const std::vector<R>& logits) {
  std::vector<R> weights(logits.size(), R(0.0));
  R shift(-infinity), sum(0.0);
  for (std::size_t j = 0; j < logits.size(); ++j) {
    if (is_minus_infinity(logits[j])) continue;
    shift = larger(shift, logits[j]);
    sum = sum + (weights[j] = exp(logits[j] - shift));
  }
  for (R& w : weights)
    if (w.number != 0.0) w = w / sum;
  return weights;
}

// Two passes, weights divided before they multiply the values, the shift of a block of keys rescaled as in fused
// kernels (Milakov and Gimelshein 2018, arXiv 1805.02867).
std::vector<R> online_softmax(const std::vector<R>& logits) {
  R shift(-infinity), sum(0.0);
  for (const R& s : logits) {
    if (is_minus_infinity(s)) continue;
    const R before = shift;
    shift = larger(shift, s);
    sum = (is_minus_infinity(before) ? R(0.0) : sum * exp(before - shift)) + exp(s - shift);
  }
  std::vector<R> weights(logits.size(), R(0.0));
  for (std::size_t j = 0; j < logits.size(); ++j)
    if (!is_minus_infinity(logits[j])) weights[j] = exp(logits[j] - shift) / sum;
  return weights;
}

// exp(S - LSE), LSE the shift plus the logarithm of the sum.
std::vector<R> by_log_sum_exp(const std::vector<R>& logits) {
  const R shift = largest_of(logits);
  R sum(0.0);
  for (const R& s : logits)
    if (!is_minus_infinity(s)) sum = sum + exp(s - shift);
  std::vector<R> weights(logits.size(), R(0.0));
  for (std::size_t j = 0; j < logits.size(); ++j)
    if (!is_minus_infinity(logits[j])) weights[j] = exp((logits[j] - shift) - log(sum));
  return weights;
}

std::vector<R> masked_before_sum(const std::vector<R>& logits) {
  const R shift = largest_of(logits);
  std::vector<R> weights(logits.size(), R(0.0));
  for (std::size_t j = 0; j < logits.size(); ++j)
    weights[j] = exp((is_minus_infinity(logits[j]) ? R(0.0) : logits[j]) - shift);
  R sum(0.0);
  for (std::size_t j = 0; j < logits.size(); ++j) {
    if (is_minus_infinity(logits[j])) weights[j] = R(0.0);
    sum = sum + weights[j];
  }
  for (std::size_t j = 0; j < logits.size(); ++j)
    if (!is_minus_infinity(logits[j])) weights[j] = weights[j] / sum;
  return weights;
}

void shift_bias(request& call) {
  for (const std::span<double> row : rows_of_bias(call)) {
    const double largest = *std::max_element(row.begin(), row.end());
    if (largest == -infinity) continue;
    const auto exact = [&](double x) {
      const double less = x - largest;
      return less + largest == x && core::round_to(call.type, less) == less;
    };
    if (!std::all_of(row.begin(), row.end(), exact)) continue;
    for (double& x : row) x -= largest;
  }
}

}  // namespace

std::vector<variant> weight_mutants() {
  return {
      changed_attention(
          "mutant/attention_no_shift", "FW14 pytorch/pytorch#1835: overflow", "exp without a shift",
          {.formula = with_weights([](const std::vector<R>& logits) { return weights_by_shift(logits, R(0.0)); })}),
      changed_attention("mutant/attention_padded_keys_count",
                        "SC13 pytorch/pytorch#139641: padding enters with 0 instead of -inf",
                        "blocks of four keys are filled up with keys of logit 0",
                        {.formula = with_weights(with_padded_keys), .telling = true}),
      changed_attention("mutant/attention_mask_after_softmax", "GR04 jax-ml/jax#23842: masked after the exponential",
                        "masked keys take their share of the weight", {.formula = with_weights(masked_after_softmax)}),
      changed_attention("mutant/attention_divides_by_keys", "a mean for a weighted mean",
                        "weights are divided by the number of keys",
                        {.formula = with_weights(divided_by_keys), .telling = true}),
      changed_attention("mutant/attention_last_key_counts_twice", "SC04 triton-lang/triton#8412: off by one",
                        "the last key of a block is added twice",
                        {.formula = with_weights([](const std::vector<R>& logits) {
                           std::vector<R> weights = softmax(logits);
                           if (!weights.empty()) weights.back() = weights.back() + weights.back();
                           return weights;
                         }),
                         .telling = true}),
      changed_attention("mutant/attention_no_rescaling", "FW10 a running maximum without rescaling",
                        "an online softmax keeps its sum when the maximum grows",
                        {.formula = with_weights(never_rescaled)}),
      changed_attention("mutant/attention_guard_cuts_zero", "FW24 fla-org/flash-linear-attention#461",
                        "a guard against positive exponents also cuts 0: the largest logit",
                        {.formula = with_weights([](const std::vector<R>& logits) {
                           return weights_by_shift(logits, largest_of(logits),
                                                   [](const R& x) { return x.number >= 0.0 ? R(0.0) : exp(x); });
                         })}),
  };
}

std::vector<variant> controls() {
  return {
      changed_attention("control/attention_online_softmax", "a running maximum with rescaling",
                        "the sum is rescaled whenever the maximum grows", {.formula = with_weights(online_softmax)}),
      changed_attention("control/attention_log_sum_exp", "weights as exp(S - LSE)",
                        "the sum is divided by in the exponent", {.formula = with_weights(by_log_sum_exp)}),
      changed_attention("control/attention_bias_first", "the sum in the other order", "bias + scale q . k",
                        {.formula = with_logit(
                             [](const R& product, const R& bias, const R& scale) { return bias + product * scale; })}),
      changed_attention("control/attention_masked_before_sum", "CT04 state-spaces/mamba#520: masked later",
                        "exponentials of masked keys are formed, and then set to 0",
                        {.formula = with_weights(masked_before_sum)}),
      changed_attention("control/attention_bias_shifted", "CT09 vllm-project/vllm#945",
                        "the largest bias of each row is subtracted where that is exact", {.inputs = shift_bias}),
      changed_attention("control/attention_guarded_exp", "CT10 fla-org/flash-linear-attention#463: a guard",
                        "no exponent above 0 reaches exp, and that of 0 is 1",
                        {.formula = with_weights(guarded_softmax)}),
      changed_attention("control/attention_mean_from_output", "FlashAttention, Algorithm 4 (arXiv 2205.14135)",
                        "the mean of the gradient is g . o of the stored output, in f16 and bf16 stage by stage",
                        {.formula = [](recipe& how) { how.mean_from_output = true; },
                         .arithmetic = in_usual_stages,
                         .declared = nothing_declared}),
      changed_attention("control/attention_usual_stages", "LlamaAttention of huggingface/transformers",
                        "f16 and bf16: sums and softmax in f32, scores, weights and output in the dtype",
                        {.arithmetic = in_usual_stages, .declared = nothing_declared}),
  };
}

}  // namespace assay::properties::encodings::attention
