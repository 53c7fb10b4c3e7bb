#include "properties/encodings/alibi/mutants/mutants.hpp"

#include <algorithm>
#include <cmath>

#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::alibi {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

// Another coefficient of the slope.
recipe_change<recipe> with_coefficient(double (*coefficient)(const alibi_form& form, double query, double key)) {
  return [coefficient](auto& how) {
    how.coefficient = [coefficient](const alibi_form& form, double query, double key) {
      return from_integer<typename std::decay_t<decltype(how)>::number>(coefficient(form, query, key));
    };
  };
}

void transpose_bias(core::tensors& outputs, const request& call) {
  if (call.operation->name != "alibi/bias") return;
  core::tensor& bias = outputs.at("bias");
  const core::tensor right = bias;
  const std::size_t n = bias.shape()[1], m = bias.shape()[2];
  for (std::size_t k = 0; k < bias.size(); ++k)
    bias.values.storage()[k] = right.values.storage()[k / (n * m) * n * m + k % n * m + k / n % m];
}

// Keys are counted as they lie in memory, and queries as the last of them, wherever their tokens stand.
void count_positions(request& call) {
  if (!call.inputs.contains("key_position")) return;
  auto& queries = call.inputs.at("query_position").values.storage();
  auto& keys = call.inputs.at("key_position").values.storage();
  for (std::size_t j = 0; j < keys.size(); ++j) keys[j] = static_cast<double>(j);
  for (std::size_t i = 0; i < queries.size(); ++i)
    queries[i] = static_cast<double>(keys.size() + i) - static_cast<double>(queries.size());
}

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all{
      changed_alibi(
          "mutant/alibi_wrong_sign", "meta-pytorch/attention-gym#86", "the bias grows with distance",
          {.formula = [](auto& how) { how.product = [](const auto& m, const auto& c) { return -(m * c); }; }}),
      changed_alibi("mutant/alibi_key_form_in_both_directions", "AL09 bigscience-workshop/Megatron-DeepSpeed#101",
                    "a bias linear in the key's position where the distance is meant",
                    {.formula = with_coefficient([](const alibi_form& form, double query, double key) {
                       return form.name == "absolute" ? key - query : form.coefficient(query, key);
                     }),
                     .telling = true}),
      changed_alibi("mutant/alibi_key_forms_of_wrong_sign", "meta-pytorch/attention-gym#86: in the key forms alone",
                    "near keys weigh less where the form is that of the key",
                    {.formula = with_coefficient([](const alibi_form& form, double query, double key) {
                       const double c = form.coefficient(query, key);
                       return form.name.starts_with("key") ? -c : c;
                     }),
                     .beside = {right<reference::encodings::attention>},
                     .telling = true}),
      changed_alibi("mutant/alibi_distance_from_one",
                    "Press, Smith and Lewis 2022, section 3, whose indices begin at 1",
                    "the nearest key has the distance 1",
                    {.formula = with_coefficient([](const alibi_form& form, double query, double key) {
                       const bool distance = form.name == "distance" || form.name == "absolute";
                       return form.coefficient(query, key) - (distance ? 1.0 : 0.0);
                     }),
                     .telling = true}),
      changed_alibi("mutant/alibi_window", "a table of 256 distances, the last one repeated",
                    "distances beyond 256 count as 256",
                    {.formula = with_coefficient([](const alibi_form& form, double query, double key) {
                       return std::max(form.coefficient(query, key), -256.0);
                     }),
                     .telling = true}),
      changed_alibi("mutant/alibi_indices_for_positions", "AL05 lucidrains/x-transformers#242",
                    "keys and queries are counted, those of a masked memory too",
                    {.inputs = count_positions, .telling = true}),
      changed_alibi("mutant/alibi_causal_ignored", "AL09 Dao-AILab/flash-attention#540", "the mask is left out",
                    {.formula = [](auto& how) { how.hides = [](auto&&...) { return false; }; }, .telling = true}),
      changed_alibi("mutant/alibi_own_key_masked", "SC04 triton-lang/triton#8412: off by one",
                    "the query's own key is masked",
                    {.formula =
                         [](auto& how) {
                           how.hides = [](const alibi_form& form, double query, double key) {
                             return form.causal && key >= query;
                           };
                         }}),
      changed_alibi("mutant/alibi_mask_is_finite", "a mask of -10000, as early code has it", "-10000 instead of -inf",
                    {.outputs =
                         [](core::tensors& outputs) {
                           change_each(outputs, "bias", [](double x) { return std::isinf(x) && x < 0 ? -10000 : x; });
                         },
                     .telling = true}),
      changed_alibi("mutant/alibi_keys_by_queries", "SC04 triton-lang/triton#8412: axes",
                    "the bias is written keys by queries", {.outputs = transpose_bias}),
      changed_alibi("mutant/alibi_masked_pairs_in_gradient", "GR04 jax-ml/jax#23842",
                    "cotangents of masked pairs count",
                    {.inputs =
                         [](request& call) {
                           if (call.operation->is_vjp()) call.attributes["causal"] = false;
                         }}),
      changed_alibi("mutant/alibi_gradient_of_wrong_sign", "meta-pytorch/attention-gym#86: the gradient",
                    "the gradient of the slopes is negated",
                    {.outputs = [](core::tensors& outputs) { negate(outputs, "grad_slopes"); }, .telling = true}),
      changed_alibi("mutant/alibi_distance_gradient_of_wrong_sign", "meta-pytorch/attention-gym#86: the gradient alone",
                    "the gradient of the slopes is negated where the form is the distance",
                    {.outputs =
                         [](core::tensors& outputs, const request& call) {
                           // The backward pass multiplies by i - j.
                           if (call.operation->is_vjp() && setting_of<std::string>(call, "form") == "distance")
                             negate(outputs, "grad_slopes");
                         },
                     .telling = true}),
      changed_alibi("mutant/alibi_rescaled_at_every_call", "NVIDIA/NeMo: an interpolation factor",
                    "slopes that are kept are halved at every call",
                    {.inputs =
                         [factor = 1.0](request& call) mutable {
                           if (!call.inputs.contains("slopes")) return;
                           for (double& m : call.inputs.at("slopes").values.storage()) m *= factor;
                           factor /= 2;
                         },
                     .declared = nothing_declared,
                     .remembers = true}),
  };
  for (auto* others : {precision_mutants, slope_mutants})
    for (variant& v : others()) all.push_back(std::move(v));
  return all;
}

std::vector<variant> precision_mutants() {
  using core::dtype;
  return {
      changed_alibi("mutant/alibi_distance_in_storage_dtype", "EleutherAI/gpt-neox, positional_embeddings.py",
                    "distances are rounded to the dtype of the scores before they are multiplied",
                    {.formula =
                         [](auto& how, dtype storage) {
                           how.coefficient = [storage](const alibi_form& form, double query, double key) {
                             return from_integer<typename std::decay_t<decltype(how)>::number>(
                                 core::round_to(storage, form.coefficient(query, key)));
                           };
                         },
                     .shown_in = dtype::bf16}),
      changed_alibi("mutant/alibi_slope_in_bf16", "Dao-AILab/flash-attention#845", "slopes are kept in bf16",
                    {.inputs = [](request& call) { round_each(call.inputs, "slopes", dtype::bf16); }}),
      changed_alibi("mutant/alibi_product_in_bf16", "DT16 NVIDIA/TensorRT-Model-Connect#667",
                    "slope, position and their product are rounded to bf16",
                    {.formula =
                         [](auto& how) {
                           how.product = [](const auto& slope, const auto& c) {
                             const auto held = [](const auto& x) { return held_in(dtype::bf16, x); };
                             return held(held(slope) * held(c));
                           };
                         }}),
      changed_alibi("mutant/alibi_positions_in_f32", "Dao-AILab/flash-attention#845: precision of positions",
                    "positions are rounded to f32 before they are subtracted",
                    {.inputs = [](request& call) { round_positions(call, dtype::f32); }, .shown_in = dtype::f64}),
      changed_alibi("mutant/alibi_bias_in_bf16", "DT17 HabanaAI/vllm-fork#503", "the bias is stored in bf16",
                    {.outputs = [](core::tensors& outputs) { round_each(outputs, "bias", dtype::bf16); }}),
      // What overflows is told from the mask, which is written later.
      changed_alibi("mutant/alibi_saturates",
                    "huggingface/transformers, modeling_opt.py: scores no lower than the least number",
                    "a bias beyond the largest number becomes that number",
                    {.formula =
                         [](recipe& how, dtype storage) {
                           how.product = [least = -core::largest_finite(storage)](const R& slope, const R& c) {
                             const R product = slope * c;
                             return product.number < least ? R(least) : product;
                           };
                         }}),
  };
}

}  // namespace assay::properties::encodings::alibi
