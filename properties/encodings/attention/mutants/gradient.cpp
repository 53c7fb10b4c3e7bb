// What is wrong in the gradients alone.
#include <algorithm>
#include <cmath>

#include "properties/encodings/attention/mutants/mutants.hpp"
#include "properties/encodings/attention/mutants/recipes.hpp"

namespace assay::properties::encodings::attention {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

template <class R>
attention_recipe<R> with_grad_logit(R (*grad)(const R&, const R&, const R&)) {
  attention_recipe<R> how;
  how.grad_logit = grad;
  return how;
}

struct no_mean_in_gradient : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_grad_logit<R>([](const R& weight, const R& along, const R&) { return weight * along; });
  }
};
struct mean_unweighted_in_gradient : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_grad_logit<R>([](const R& weight, const R& along, const R& mean) { return weight * along - mean; });
  }
};

// Gradients changed after the fact.
template <class Change>
void change_gradient(core::tensors& outputs, const char* name, Change change) {
  if (const auto it = outputs.find(name); it != outputs.end()) change(it->second);
}

struct no_scale_in_query_gradient : unchanged_attention {
  static void finish(const request& call, core::tensors& outputs) {
    const std::size_t width = call.inputs.at("q").shape()[3];
    if (core::setting<std::string>(core::completed(*call.operation, call.attributes), "scale") == "one") return;
    change_gradient(outputs, "grad_q", [&](core::tensor& t) {
      for (double& x : t.values.storage()) x = core::round_to(t.type, x * std::sqrt(static_cast<double>(width)));
    });
  }
};
struct bias_gradient_averaged : unchanged_attention {
  static void finish(const request& call, core::tensors& outputs) {
    const auto batch = static_cast<double>(std::max<std::size_t>(1, call.inputs.at("q").shape()[0]));
    change_gradient(outputs, "grad_bias", [&](core::tensor& t) {
      for (double& x : t.values.storage()) x = core::round_to(t.type, x / batch);
    });
  }
};

}  // namespace

std::vector<variant> gradient_mutants() {
  return {
      make_variant<no_mean_in_gradient>("mutant/attention_no_mean_in_gradient",
                                        "GR07 pytorch/pytorch#196705: a term dropped",
                                        "the gradient of the logits lacks the mean"),
      make_variant<mean_unweighted_in_gradient>("mutant/attention_mean_unweighted", "GR07 pytorch/pytorch#196705",
                                                "the mean in the gradient of the logits is not weighted"),
      make_variant<no_scale_in_query_gradient>("mutant/attention_no_scale_in_gradient",
                                               "a factor forgotten in a backward pass",
                                               "the gradient of q is not scaled"),
      make_variant<bias_gradient_averaged>("mutant/attention_bias_gradient_averaged",
                                           "GR04 jax-ml/jax#23842: a reduction over the batch",
                                           "the gradient of the bias is averaged over the batch, not added up"),
  };
}

}  // namespace assay::properties::encodings::attention
