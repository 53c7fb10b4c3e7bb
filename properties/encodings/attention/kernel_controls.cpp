// Right ways of kernels from logits to weights and to the logarithm of the sum.
#include <cmath>

#include "properties/encodings/attention/kernels.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::attention {
namespace {

using weights::block_by_block, weights::largest_of_rows, weights::masked, weights::seen_alone, weights::sum_of_rows;

traced zero_of() { return traced(0.0); }
traced less_infinity() { return traced(-core::infinity); }

// The sum of the exponentials of a row, represented as exp(shift) sum.
struct shifted_sum {
  traced shift = less_infinity(), sum{};
};
shifted_sum by_blocks(const traced& logits, const traced_truth& seen) {
  shifted_sum all;
  block_by_block(masked(logits, seen), seen, 4, [&](const traced& s, const traced_truth& is_seen) {
    const traced before = all.shift, none = zero_of();
    all.shift = larger(before, largest_of_rows(s));
    const traced block_sum = sum_of_rows(seen_alone(exp(s - all.shift), is_seen));
    all.sum = either(equal(before, less_infinity()), none, all.sum * exp(before - all.shift)) + block_sum;
  });
  return all;
}
// FlashAttention 4 rescales only if the maximum has grown by more than log 256.
shifted_sum rescaled_where_it_pays(const traced& logits, const traced_truth& seen) {
  shifted_sum all;
  block_by_block(masked(logits, seen), seen, 1, [&](const traced& s, const traced_truth& is_seen) {
    const traced before = all.shift, none = zero_of();
    const traced_truth is_first = equal(before, less_infinity()), grows = is_first || less(traced(5.545), s - before);
    all.shift = either(is_seen && grows, detach(s), before);
    const traced rescaled = either(grows, all.sum * exp(before - all.shift), all.sum);
    all.sum = either(is_seen, either(is_first, none, rescaled) + exp(s - all.shift), all.sum);
  });
  return all;
}
// Uses exp2; the factor log2 e is folded into the logits.
traced in_units_of_log_two(const traced& s) { return s * traced(1.4426950408889634); }
traced exp_of_two(const traced& x) { return exp(x * log(traced(2.0))); }
shifted_sum in_base_two(const traced& logits, const traced_truth& seen) {
  const traced s = in_units_of_log_two(masked(logits, seen)), shift = largest_of_rows(s);
  return {shift, sum_of_rows(seen_alone(exp_of_two(s - shift), seen))};
}

template <shifted_sum (*Of)(const traced& logits, const traced_truth& seen)>
traced weights_by(const traced& logits, const traced_truth& seen) {
  const shifted_sum all = Of(logits, seen);
  return seen_alone(exp(logits - all.shift) / all.sum, seen);
}
traced weights_in_base_two(const traced& logits, const traced_truth& seen) {
  const shifted_sum all = in_base_two(logits, seen);
  return seen_alone(exp_of_two(in_units_of_log_two(logits) - all.shift) / all.sum, seen);
}
template <shifted_sum (*Of)(const traced& logits, const traced_truth& seen)>
traced lse_by(const traced& logits, const traced_truth& seen) {
  const shifted_sum all = Of(logits, seen);
  return all.shift + log(all.sum);
}
traced lse_in_base_two(const traced& logits, const traced_truth& seen) {
  const shifted_sum all = in_base_two(logits, seen);
  return (all.shift + log(all.sum) / log(traced(2.0))) * traced(0.6931471805599453);
}
traced lse_key_by_key(const traced& logits, const traced_truth& seen) {
  traced all = less_infinity();
  block_by_block(masked(logits, seen), seen, 1,
                 [&](const traced& s, const traced_truth&) { all = log_sum_exp(all, s); });
  return all;
}
// The weights of a backward pass that knows the stored logarithm of the sum.
traced weights_by_stored_lse(const traced& logits, const traced_truth& seen) {
  return seen_alone(exp(logits - lse_by<by_blocks>(logits, seen)), seen);
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
                                    {.gradient = [](auto& scheme) { scheme.weights = weights_by_stored_lse; },
                                     .arithmetic = in_usual_stages,
                                     .declared = nothing_declared}),
      make_variant<kernel_encoding>(
          "control/attention_keys_repeated", "repeat_kv of huggingface/transformers",
          "gradients of k and v are stored for each head of q, and added up; f16 and bf16 stage by stage",
          {.formula = [](auto& scheme) { scheme.by_heads = true; },
           .arithmetic = in_usual_stages,
           .declared = nothing_declared}),
      make_variant<kernel_encoding>("control/attention_through_maximum",
                                    "eager_attention_forward of gpt-oss in huggingface/transformers",
                                    "the maximum that is subtracted has a gradient, the sum of the row's; f16 and bf16 "
                                    "stage by stage",
                                    {.formula = [](auto& scheme) { scheme.through_maximum = true; },
                                     .arithmetic = in_usual_stages,
                                     .declared = nothing_declared}),
      make_variant<kernel_encoding>(
          "control/attention_cap_by_sigmoid", "vLLM's and SGLang's Triton kernels",
          "tanh(x) is 2 sigmoid(2x) - 1: of class linear",
          {.formula = [](auto& scheme) { scheme = kernel_encoding::algorithm(reference::accuracy_class::linear); }}),
  };
}

}  // namespace assay::properties::encodings::attention
