// Wrong and right ways to compute ALiBi's slopes, its biases, and attention with them.
#include <algorithm>
#include <cmath>

#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/attention.hpp"
#include "properties/kinds/pair_bias.hpp"
#include "reference/encodings/alibi.hpp"

namespace assay::properties::encodings::alibi {
namespace {

using core::dtype;
using encoding = reference::encodings::alibi;
using reference::encodings::alibi_pair;
using reference::encodings::alibi_rule;
using reference::encodings::alibi_slope;
using reference::formula::traced, reference::formula::traced_truth;
using index = reference::formula::traced_integer;
inline constexpr auto& changed = make_variant<encoding>;

scheme_change<encoding::scheme> with_slope(traced (*slope)(const alibi_rule& rule, std::size_t head)) {
  return [slope](encoding::scheme& scheme) { scheme.slope = slope; };
}
using attention_bias = traced (*)(const traced& slope, bool both, const alibi_pair& pair);
auto attended(attention_bias bias) {
  return [bias](auto& scheme) { scheme.attended = bias; };
}
traced off_by_one(const traced& slope, bool both, const alibi_pair& pair) {
  return reference::encodings::alibi_bias(slope, both, {pair.query + index::constant(1), pair.key, pair.last});
}
traced by_key_in_both_directions(const traced& slope, bool, const alibi_pair& pair) {
  return reference::encodings::alibi_bias_of_key(slope, false, pair);
}
traced by_index_in_block(const traced& slope, bool both, const alibi_pair& pair) {
  const index block = index::constant(16);
  return reference::encodings::alibi_bias(slope, both,
                                          {pair.query, pair.key - block * floor_divide(pair.key, block), pair.last});
}
traced from_last_key(const traced& slope, bool both, const alibi_pair& pair) {
  return reference::encodings::alibi_bias(slope, both, {both ? pair.query : pair.last, pair.key, pair.last});
}

// Exponents in base two, with a constant folded into the factors of the logits.
traced in_base_two(const traced& logits, const traced_truth& seen) {
  const traced unit = log(traced(2.0)), folded = traced(1.0) / unit;
  return weights::over_sum(exp(weights::less_largest(logits * folded, seen) * unit), seen);
}

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all = reported_faults({
      {"mutant/alibi_wrong_sign", "meta-pytorch/attention-gym#86", "alibi/bias/bias/negated"},
      {"mutant/alibi_key_form_in_both_directions", "bigscience-workshop/Megatron-DeepSpeed#101",
       "alibi/bias/form/always_key"},
      {"mutant/alibi_causal_ignored", "Dao-AILab/flash-attention#540", "alibi/bias/causal/always_false"},
      {"mutant/alibi_masked_pairs_in_gradient", "jax-ml/jax#23842", "alibi/bias:vjp/causal/always_false"},
      {"mutant/alibi_keys_off_by_one", "triton-lang/triton#8412: off by one", "alibi/bias/key_position/one_off"},
      {"mutant/alibi_keys_by_queries", "triton-lang/triton#8412: axes", "alibi/bias/bias/transposed_1_2"},
      {"mutant/alibi_slope_in_bf16", "Dao-AILab/flash-attention#845", "alibi/bias/slopes/in_bf16"},
      {"mutant/alibi_all_in_bf16", "NVIDIA/TensorRT-Model-Connect#667", "alibi/bias/call/in_bf16"},
      {"mutant/alibi_bias_in_bf16", "HabanaAI/vllm-fork#503", "alibi/bias/bias/in_bf16"},
      {"mutant/alibi_naive_slopes", "ml-explore/mlx, positional_encoding.py", "alibi/slopes/rule/always_naive"},
      {"mutant/alibi_alpha_max_is_8", "mosaicml/llm-foundry#186", "alibi/slopes/alpha_max/ignored"},
      {"mutant/alibi_slice_from_head_0", "flashinfer-ai/flashinfer#1606", "alibi/slopes/first_head/ignored"},
      {"mutant/alibi_slice_as_a_model", "flashinfer-ai/flashinfer#1606", "alibi/slopes/all_heads/ignored"},
      {"mutant/alibi_attention_causal_ignored", "Dao-AILab/flash-attention#540", "alibi/attention/causal/always_false"},
      {"mutant/alibi_attention_bias_attenuated", "tenstorrent/tt-metal#56406: a bias scaled as q . k",
       "alibi/attention/bias_factor/always_inverse_sqrt"},
      {"mutant/alibi_attention_slopes_in_bf16", "Dao-AILab/flash-attention#845", "alibi/attention/slopes/in_bf16"},
  });
  for (variant& v : faults_of_distance<encoding>("alibi")) all.push_back(std::move(v));
  for (variant& v : faults_of_attention<encoding>("alibi_attention", "the bias")) all.push_back(std::move(v));
  for (variant& v : std::vector<variant>{
           changed("mutant/alibi_distance_from_one", "Press, Smith and Lewis 2022, section 3, whose indices begin at 1",
                   "the nearest key has the distance 1",
                   {.formula =
                        [](auto&scheme) { scheme.product = [](const auto& m, const auto& c) { return m * c - m; }; }}),
           changed("mutant/alibi_attention_queries_first", "lucidrains/x-transformers#153, vllm-project/vllm#945",
                   "queries behind cached keys are counted from the first key",
                   {.inputs = [](request&call) { set_setting<std::string>(call, "alignment", "first"); },
                   .representative = true}),
           changed("mutant/alibi_attention_off_by_one", "triton-lang/triton#8412: off by one",
                   "distances in both directions are counted from the token behind the query",
                   {.formula = attended(off_by_one)}),
           changed("mutant/alibi_attention_by_key_in_both_directions", "Dao-AILab/flash-attention#1585",
                   "slope times index of the key where keys behind the query count by their distance",
                   {.formula = attended(by_key_in_both_directions)}),
           changed("mutant/alibi_attention_block_index", "triton-lang/triton#2361",
                   "keys are counted from the start of their block of 16", {.formula = attended(by_index_in_block)}),
           changed("mutant/alibi_mask_is_finite", "a mask of -10000, as early code has it", "-10000 instead of -inf",
                   {.outputs =
                        [](core::tensors&outputs) {
                          change_each(outputs, "bias", [](double x) { return std::isinf(x) && x < 0 ? -10000 : x; });
                        }}),
           changed("mutant/alibi_rescaled_at_every_call", "NVIDIA/NeMo: an interpolation factor",
                   "slopes that are kept are halved at every call",
                   {.inputs =
                        [factor = 1.0](request&call) mutable {
                          if (!call.inputs.contains("slopes")) return;
                          change_each(call.inputs, "slopes", [&](double m) { return m * factor; });
                          factor /= 2;
                        },
                   .declared = nothing_declared,
                   .remembers = true}),
           // A bias that overflows stays distinct from the mask, which is written later.
           changed("mutant/alibi_saturates",
                   "huggingface/transformers, modeling_opt.py: scores no lower than the least number",
                   "a bias beyond the largest number becomes that number",
                   {.formula =
                        [](encoding::scheme&scheme, dtype storage) {
                          scheme.product = [storage](const traced& slope, const traced& c) {
                            const traced product = slope * c, least(-core::largest_finite(storage));
                            return either(less(product, least), least, product);
                          };
                        }}),
           changed("mutant/alibi_exponent_from_head_0", "paiml/aprender#2143",
                   "the first slope is 1, each other one that of the head before",
                   {.formula = with_slope([](const alibi_rule&rule, std::size_t head) {
                      return head == 0 ? traced(1.0) : alibi_slope(rule, head - 1);
                    })}),
           changed("mutant/alibi_slopes_sorted", "ofirpress/attention_with_linear_biases#17",
                   "the slopes in descending order",
                   {.outputs =
                        [](core::tensors&outputs) {
                          if (!outputs.contains("slopes")) return;
                          auto& slopes = outputs.at("slopes").values.storage();
                          std::sort(slopes.begin(), slopes.end(), std::greater<>());
                        }}),
       })
    all.push_back(std::move(v));
  return all;
}

std::vector<variant> controls() {
  return all_of(
      {controls_of_attention<encoding>("alibi_attention"),
       {
           changed("control/alibi_recursive_form", "the official program: powers by multiplication",
                   "the same slopes, one from the other",
                   {.formula = with_slope([](const alibi_rule& rule, std::size_t head) {
                      return reference::encodings::alibi_products().slope(
                          reference::encodings::alibi_term_of(rule, head));
                    })}),
           changed("control/alibi_concatenated", "baichuan-inc/Baichuan2#225: every second slope, then the others",
                   "the same slopes in the same order",
                   {.formula = with_slope([](const alibi_rule& rule, std::size_t head) {
                      const bool official = rule.name == "official";
                      return alibi_slope({official ? "mpt" : rule.name,
                                          official && !rule.alpha_of_official ? 8.0 : rule.alpha_max, rule.heads},
                                         head);
                    })}),
           changed("control/alibi_by_exponential", "slopes as exp(e log 2)", "the same slopes",
                   {.formula = with_slope([](const alibi_rule& rule, std::size_t head) {
                      const double exponent = reference::encodings::alibi_exponent(rule, head).to_double();
                      return exp(traced(exponent) * log(traced(2.0)));
                    })}),
           changed("control/alibi_attention_by_key", "Dao-AILab/flash-attention, csrc/flash_attn/src/alibi.h",
                   "slope times index of the key: of class linear",
                   {.formula = attended(reference::encodings::alibi_bias_of_key)}),
           changed("control/alibi_attention_from_last_key", "huggingface/transformers, modeling_mpt.py",
                   "slope times place before the last key: of class linear", {.formula = attended(from_last_key)}),
           changed("control/alibi_attention_in_base_two",
                   "exp2 of logits with a folded log2 e, as fused kernels have it", "exponents in base two",
                   {.formula = weights::steps(in_base_two)}),
           changed("control/alibi_attention_running_maximum", "Milakov and Gimelshein 2018, arXiv 1805.02867",
                   "the sum is rescaled whenever the maximum grows",
                   {.formula = weights::steps(weights::online_softmax)}),
       }});
}

}  // namespace assay::properties::encodings::alibi
