// What is wrong in the logits, their bias or the gradients.
#include "properties/encodings/attention/mutants/mutants.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace assay::properties::encodings::attention {
namespace {

using core::infinity;

recipe_change<recipe> with_grad_logit(R (*grad)(const R& weight, const R& along, const R& mean)) {
  return [grad](recipe& how) { how.grad_logit = grad; };
}

// The bias of a relative encoding: -1/2 a token.
void bias_where_none_is(request& call) {
  core::tensor& bias = call.inputs.at("bias");
  auto& x = bias.values.storage();
  if (std::any_of(x.begin(), x.end(), [](double b) { return b != 0.0; })) return;
  const std::size_t n = bias.shape()[1], m = bias.shape()[2];
  for (std::size_t p = 0; p < x.size(); ++p) {
    const auto distance = static_cast<double>(p / m % n) - static_cast<double>(p % m);
    x[p] = core::round_to(call.type, -0.5 * std::fabs(distance));
  }
}

// As where -inf is replaced by a number that is the least there is: no key weighs more than another.
void see_all_keys_where_none_is(request& call) {
  for (const std::span<double> row : rows_of_bias(call))
    if (std::all_of(row.begin(), row.end(), [](double b) { return b == -infinity; }))
      std::fill(row.begin(), row.end(), 0.0);
}

void reverse_heads_of_bias(request& call) {
  core::tensor& bias = call.inputs.at("bias");
  std::vector<std::size_t> order(bias.shape()[0]);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  bias = core::take(bias, 0, order);
}

void forget_scale_of_queries(core::tensors& outputs, const request& call) {
  if (setting_of<std::string>(call, "scale") == "one") return;
  const auto width = static_cast<double>(call.inputs.at("q").shape()[3]);
  change_each(outputs, "grad_q", [width](double x) { return x * std::sqrt(width); });
}

void average_gradient_of_bias(core::tensors& outputs, const request& call) {
  const auto batch = static_cast<double>(std::max<std::size_t>(1, call.inputs.at("q").shape()[0]));
  change_each(outputs, "grad_bias", [batch](double x) { return x / batch; });
}

std::vector<variant> gradient_mutants() {
  return {
      changed_attention(
          "mutant/attention_no_mean_in_gradient", "GR07 pytorch/pytorch#196705: a term dropped",
          "the gradient of the logits lacks the mean",
          {.formula = with_grad_logit([](const R& weight, const R& along, const R&) { return weight * along; }),
           .telling = true}),
      changed_attention("mutant/attention_mean_unweighted", "GR07 pytorch/pytorch#196705",
                        "the mean in the gradient of the logits is not weighted",
                        {.formula = with_grad_logit(
                             [](const R& weight, const R& along, const R& mean) { return weight * along - mean; })}),
      changed_attention("mutant/attention_no_scale_in_gradient", "a factor forgotten in a backward pass",
                        "the gradient of q is not scaled", {.outputs = forget_scale_of_queries, .telling = true}),
      changed_attention("mutant/attention_bias_gradient_averaged", "GR04 jax-ml/jax#23842: a reduction over the batch",
                        "the gradient of the bias is averaged over the batch, not added up",
                        {.outputs = average_gradient_of_bias}),
  };
}

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all{
      changed_attention(
          "mutant/attention_no_scale", "a factor forgotten in a port", "q . k is not scaled",
          {.formula = with_logit([](const R& product, const R& bias, const R&) { return product + bias; })}),
      changed_attention("mutant/attention_scaled_by_width", "RP16 sgl-project/sglang#33558: a factor squared",
                        "q . k is divided by d",
                        {.formula = with_logit([](const R& product, const R& bias, const R& scale) {
                           return scale * scale * product + bias;
                         })}),
      changed_attention("mutant/attention_bias_scaled", "NVIDIA/TensorRT-Model-Connect#32: Falcon's ALiBi",
                        "the bias is scaled with q . k",
                        {.formula = with_logit(
                             [](const R& product, const R& bias, const R& scale) { return scale * (product + bias); }),
                         .telling = true}),
      changed_attention(
          "mutant/attention_bias_forgotten", "huggingface/transformers#29067: a fused path without the bias",
          "the bias is not added",
          {.formula = with_logit([](const R& product, const R&, const R& scale) { return scale * product; })}),
      changed_attention("mutant/attention_bias_twice", "a bias that the caller and the kernel add",
                        "the bias is added twice",
                        {.formula = with_logit([](const R& product, const R& bias, const R& scale) {
                           return scale * product + bias + bias;
                         })}),
      changed_attention("mutant/attention_bias_where_none_is",
                        "T504 huggingface/transformers#8518: a bias in cross-attention",
                        "where the bias is 0 everywhere it is -|i - j| / 2", {.inputs = bias_where_none_is}),
      changed_attention("mutant/attention_bias_in_bf16", "DT17 HabanaAI/vllm-fork#503",
                        "the bias has the digits of bf16",
                        {.inputs = [](request& call) { round_each(call.inputs, "bias", core::dtype::bf16); }}),
      changed_attention("mutant/attention_mask_is_finite", "a mask of -10000 instead of -inf",
                        "masked keys have the bias -10000",
                        {.inputs =
                             [](request& call) {
                               change_each(call.inputs, "bias", [](double b) { return b == -infinity ? -10000.0 : b; });
                             },
                         .telling = true}),
      changed_attention("mutant/attention_all_keys_where_none_is",
                        "ml-explore/mlx#2395: neither 0 nor NaN in a row fully masked",
                        "a query whose keys are all masked sees all of them",
                        {.inputs = see_all_keys_where_none_is, .telling = true}),
      changed_attention("mutant/attention_other_head", "SC04 triton-lang/triton#8412: axes",
                        "heads get one another's bias", {.inputs = reverse_heads_of_bias}),
      changed_attention("mutant/attention_first_row_of_bias", "RP22 unslothai/unsloth#3699: one row for all",
                        "all queries get the bias of the first",
                        {.inputs =
                             [](request& call) {
                               core::tensor& bias = call.inputs.at("bias");
                               bias = core::take(bias, 1, std::vector<std::size_t>(bias.shape()[1], 0));
                             }}),
  };
  for (variant& v : weight_mutants()) all.push_back(std::move(v));
  for (variant& v : gradient_mutants()) all.push_back(std::move(v));
  return all;
}

}  // namespace assay::properties::encodings::attention
