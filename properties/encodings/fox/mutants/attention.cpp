// What is wrong in attention with decays that are right.
#include "reference/encodings/attention.hpp"

#include <limits>

#include "properties/encodings/attention/mutants/mutants.hpp"
#include "properties/encodings/fox/mutants/mutants.hpp"
#include "properties/faults/call_changes.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::fox {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

recipe_change<recipe> with_heads(recipe_change<attention::recipe> change) {
  return [change](auto& how, core::dtype storage) { change(how.heads, storage); };
}

// exp(D_ij) is formed for all pairs and those of later keys masked afterwards: where it overflowed, the derivative of
// the exponential is infinite, and 0 times that is NaN.
void mask_after_exp_in_gradient(core::tensors& outputs, const request& call) {
  if (!outputs.contains("grad_q")) return;
  const double overflow = call.type == core::dtype::f64 ? 709.8 : 88.7;
  const auto& a = call.inputs.at("log_f").values.storage();
  core::tensor& grad = outputs.at("grad_log_f");
  const std::size_t n = grad.shape()[1], heads = grad.shape()[2];
  for (std::size_t lane = 0; lane < grad.shape()[0] * heads; ++lane) {
    const auto gate = [&](std::size_t i) { return (lane / heads * n + i) * heads + lane % heads; };
    for (std::size_t i = 0; i < n; ++i) {
      double later = 0;
      for (std::size_t j = i + 1; j < n && later <= overflow; ++j) {
        later -= a[gate(j)];
        for (std::size_t l = i + 1; l <= j && later > overflow; ++l)
          grad.values.storage()[gate(l)] = std::numeric_limits<double>::quiet_NaN();
      }
    }
  }
}

}  // namespace

std::vector<variant> attention_mutants() {
  return {
      changed_fox("mutant/fox_decay_scaled", "NVIDIA/TensorRT-Model-Connect#32: a bias scaled with the logits",
                  "attention divides D by sqrt(d) with q . k",
                  {.formula = with_heads(attention::with_logit(
                       [](const R& product, const R& bias, const R& scale) { return scale * (product + bias); })),
                   .beside = {right<reference::encodings::attention>},
                   .telling = true}),
      changed_fox("mutant/fox_gate_detached", "GR07 pytorch/pytorch#196705: a path dropped",
                  "attention gives its gates no gradient",
                  {.outputs =
                       [](core::tensors& outputs) {
                         if (outputs.contains("grad_q")) set_to_zero(outputs, "grad_log_f");
                       },
                   .beside = {right<reference::encodings::attention>}}),
      // Whatever q . k is.
      changed_fox("mutant/fox_pruned_by_decay_alone", "the threshold of arXiv 2504.06949 without the bound of q . k",
                  "keys with D below -6 are left out",
                  {.formula = with_heads(attention::with_logit([](const R& product, const R& bias, const R& scale) {
                     return bias.number < -6.0 ? R(-core::infinity) : scale * product + bias;
                   })),
                   .beside = {right<reference::encodings::attention>},
                   .telling = true}),
      changed_fox("mutant/fox_no_shift", "FW14 pytorch/pytorch#1835: overflow", "attention forms exp without a shift",
                  {.formula = with_heads(attention::with_weights(
                       [](const std::vector<R>& logits) { return attention::weights_by_shift(logits, R(0.0)); })),
                   .beside = {right<reference::encodings::attention>}}),
      changed_fox("mutant/fox_masked_after_exp", "GR20 huggingface/transformers#48455",
                  "the gradient of a gate is NaN where exp(-D) overflows", {.outputs = mask_after_exp_in_gradient}),
  };
}

}  // namespace assay::properties::encodings::fox
