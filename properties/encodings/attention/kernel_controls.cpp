// Right ways of kernels from logits to weights and to the logarithm of the sum.
#include <algorithm>
#include <cmath>

#include "properties/encodings/attention/kernels.hpp"

namespace assay::properties::encodings::attention {
namespace {

// What the sum of the exponentials of a row is, as exp(shift) sum.
struct shifted_sum {
  rounded shift{-core::infinity}, sum{};
};
shifted_sum by_blocks(const logit_row& logits) {
  shifted_sum all;
  for (std::size_t first = 0; first < logits.size(); first += 4) {
    const logit_row block(&logits[first], &logits[0] + std::min(first + 4, logits.size()));
    const rounded before = all.shift;
    all.shift = larger(all.shift, weights::largest_of(block));
    if (is_minus_infinity(all.shift)) continue;
    rounded sum;
    for (const rounded& s : block)
      if (!is_minus_infinity(s)) sum = sum + exp(s - all.shift);
    all.sum = is_minus_infinity(before) ? sum : all.sum * exp(before - all.shift) + sum;
  }
  return all;
}
// FlashAttention 4 rescales where the maximum has grown by more than log 256.
shifted_sum rescaled_where_it_pays(const logit_row& logits) {
  shifted_sum all;
  for (const rounded& s : logits) {
    if (is_minus_infinity(s)) continue;
    if (is_minus_infinity(all.shift)) {
      all = {s, rounded(1.0)};
      continue;
    }
    if (!((s - all.shift).number <= 5.545)) {
      all.sum = all.sum * exp(all.shift - s);
      all.shift = s;
    }
    all.sum = all.sum + exp(s - all.shift);
  }
  return all;
}
// With exp2, whose factor log2 e is folded into the logits.
rounded in_units_of_log_two(const rounded& s) { return s * rounded(1.4426950408889634); }
rounded exp_of_two(const rounded& x) { return rounded(std::exp2(x.number)); }
shifted_sum in_base_two(const logit_row& logits) {
  shifted_sum all{in_units_of_log_two(weights::largest_of(logits))};
  for (const rounded& s : logits)
    if (!is_minus_infinity(s)) all.sum = all.sum + exp_of_two(in_units_of_log_two(s) - all.shift);
  return all;
}

template <shifted_sum (*Of)(const logit_row&)>
logit_row weights_by(const logit_row& logits) {
  const shifted_sum all = Of(logits);
  logit_row weights;
  for (const rounded& s : logits) weights.push_back(is_minus_infinity(s) ? rounded(0.0) : exp(s - all.shift) / all.sum);
  return weights;
}
logit_row weights_in_base_two(const logit_row& logits) {
  const shifted_sum all = in_base_two(logits);
  logit_row weights;
  for (const rounded& s : logits)
    weights.push_back(is_minus_infinity(s) ? rounded(0.0) : exp_of_two(in_units_of_log_two(s) - all.shift) / all.sum);
  return weights;
}
template <shifted_sum (*Of)(const logit_row&)>
rounded lse_by(const logit_row& logits) {
  const shifted_sum all = Of(logits);
  return all.shift + log(all.sum);
}
rounded lse_in_base_two(const logit_row& logits) {
  const shifted_sum all = in_base_two(logits);
  return (all.shift + rounded(std::log2(all.sum.number))) * rounded(0.6931471805599453);
}
rounded lse_key_by_key(const logit_row& logits) {
  rounded all(-core::infinity);
  for (const rounded& s : logits) all = log_sum_exp(all, s);
  return all;
}
// The weights of a backward that knows the logarithm of the sum, as it was stored.
logit_row weights_by_stored_lse(const logit_row& logits) {
  const rounded lse = lse_by<by_blocks>(logits);
  logit_row weights;
  for (const rounded& s : logits) weights.push_back(is_minus_infinity(s) ? rounded(0.0) : exp(s - lse));
  return weights;
}

}  // namespace

std::vector<variant> kernel_controls() {
  return {
      make_variant<kernel_encoding>("control/attention_by_blocks", "a running maximum by blocks",
                                    "blocks of four keys, the sum rescaled for each",
                                    {.formula = as_weights_and_lse(weights_by<by_blocks>, lse_by<by_blocks>)}),
      make_variant<kernel_encoding>(
          "control/attention_rescaled_where_it_pays", "FlashAttention 4",
          "the sum is rescaled where the maximum grows by more than log 256",
          {.formula = as_weights_and_lse(weights_by<rescaled_where_it_pays>, lse_by<rescaled_where_it_pays>)}),
      make_variant<kernel_encoding>("control/attention_in_base_two",
                                    "Dao-AILab/flash-attention: exp2 with a folded log2 e", "exponents in base two",
                                    {.formula = as_weights_and_lse(weights_in_base_two, lse_in_base_two)}),
      make_variant<kernel_encoding>("control/attention_key_by_key", "log_sum_exp of what is there and one more key",
                                    "lse key by key", {.formula = as_lse(lse_key_by_key)}),
      make_variant<kernel_encoding>("control/attention_weights_by_stored_lse",
                                    "FlashAttention, Algorithm 4 (arXiv 2205.14135)",
                                    "backward forms exp(S - lse) and divides by nothing; f16 and bf16 stage by stage",
                                    {.gradient = weights::steps(weights_by_stored_lse),
                                     .arithmetic = in_usual_stages,
                                     .declared = nothing_declared}),
      make_variant<kernel_encoding>(
          "control/attention_keys_repeated", "repeat_kv of huggingface/transformers",
          "gradients of k and v are stored for each head of q, and added up; f16 and bf16 stage by stage",
          {.formula = [](auto& how) { how.by_heads = true; },
           .arithmetic = in_usual_stages,
           .declared = nothing_declared}),
      make_variant<kernel_encoding>("control/attention_through_maximum",
                                    "eager_attention_forward of gpt-oss in huggingface/transformers",
                                    "the maximum that is subtracted has a gradient, the sum of the row's; f16 and bf16 "
                                    "stage by stage",
                                    {.formula = [](auto& how) { how.through_maximum = true; },
                                     .arithmetic = in_usual_stages,
                                     .declared = nothing_declared}),
      make_variant<kernel_encoding>("control/attention_cap_by_sigmoid", "vLLM's and SGLang's Triton kernels",
                                    "tanh(x) is 2 sigmoid(2x) - 1: of class linear",
                                    {.formula =
                                         [](auto& how) {
                                           using number = typename std::decay_t<decltype(how)>::number;
                                           how = kernel_encoding::algorithm<number>(reference::accuracy_class::linear);
                                         }}),
  };
}

}  // namespace assay::properties::encodings::attention
