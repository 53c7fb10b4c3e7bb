// What is wrong in the logits.
#include "properties/encodings/attention/mutants/mutants.hpp"

#include <algorithm>
#include <cmath>

#include "properties/encodings/attention/mutants/recipes.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::attention {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

using core::infinity;

struct no_scale : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_logit<R>([](const R& product, const R& bias, const R&) { return product + bias; });
  }
};
struct scaled_by_width : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_logit<R>(
        [](const R& product, const R& bias, const R& scale) { return scale * scale * product + bias; });
  }
};
struct bias_scaled_too : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_logit<R>([](const R& product, const R& bias, const R& scale) { return scale * (product + bias); });
  }
};
struct bias_forgotten : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_logit<R>([](const R& product, const R&, const R& scale) { return scale * product; });
  }
};
struct bias_twice : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_logit<R>([](const R& product, const R& bias, const R& scale) { return scale * product + bias + bias; });
  }
};

struct mask_is_finite : unchanged_attention {
  static void edit(request& call) {
    for (double& x : call.inputs.at("bias").values.storage())
      if (x == -infinity) x = core::round_to(call.type, -10000.0);
  }
};

// As where -inf is replaced by a number that is the least there is: no key weighs more than another.
struct all_keys_where_none_is : unchanged_attention {
  static void edit(request& call) {
    core::tensor& bias = call.inputs.at("bias");
    auto& x = bias.values.storage();
    const std::size_t keys = bias.shape()[2];
    for (std::size_t first = 0; first < x.size(); first += keys)
      if (const auto row = x.begin() + static_cast<std::ptrdiff_t>(first),
          end = row + static_cast<std::ptrdiff_t>(keys);
          std::all_of(row, end, [](double b) { return b == -infinity; }))
        std::fill(row, end, 0.0);
  }
};

struct other_head_s_bias : unchanged_attention {
  static void edit(request& call) {
    core::tensor& bias = call.inputs.at("bias");
    std::vector<std::size_t> order(bias.shape()[0]);
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = order.size() - 1 - k;
    bias = core::take(bias, 0, order);
  }
};

struct first_row_of_bias : unchanged_attention {
  static void edit(request& call) {
    core::tensor& bias = call.inputs.at("bias");
    bias = core::take(bias, 1, std::vector<std::size_t>(bias.shape()[1], 0));
  }
};

// The bias of a relative encoding where there is none: -1/2 a token.
struct bias_where_none_is : unchanged_attention {
  static void edit(request& call) {
    core::tensor& bias = call.inputs.at("bias");
    auto& x = bias.values.storage();
    if (std::any_of(x.begin(), x.end(), [](double b) { return b != 0.0; })) return;
    const std::size_t n = bias.shape()[1], m = bias.shape()[2];
    for (std::size_t p = 0; p < x.size(); ++p) {
      const auto distance = static_cast<double>(p / m % n) - static_cast<double>(p % m);
      x[p] = core::round_to(call.type, -0.5 * std::fabs(distance));
    }
  }
};

struct bias_in_bf16 : unchanged_attention {
  static void edit(request& call) {
    for (double& x : call.inputs.at("bias").values.storage()) x = core::round_to(core::dtype::bf16, x);
  }
};

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all{
      make_variant<no_scale>("mutant/attention_no_scale", "a factor forgotten in a port", "q . k is not scaled"),
      make_variant<scaled_by_width>("mutant/attention_scaled_by_width",
                                    "RP16 sgl-project/sglang#33558: a factor squared", "q . k is divided by d"),
      make_variant<bias_scaled_too>("mutant/attention_bias_scaled", "NVIDIA/TensorRT-Model-Connect#32: Falcon's ALiBi",
                                    "the bias is scaled with q . k"),
      make_variant<bias_forgotten>("mutant/attention_bias_forgotten",
                                   "huggingface/transformers#29067: a fused path without the bias",
                                   "the bias is not added"),
      make_variant<bias_twice>("mutant/attention_bias_twice", "a bias that the caller and the kernel add",
                               "the bias is added twice"),
      make_variant<bias_where_none_is>("mutant/attention_bias_where_none_is",
                                       "T504 huggingface/transformers#8518: a bias in cross-attention",
                                       "where the bias is 0 everywhere it is -|i - j| / 2"),
      make_variant<bias_in_bf16>("mutant/attention_bias_in_bf16", "DT17 HabanaAI/vllm-fork#503",
                                 "the bias has the digits of bf16"),
      make_variant<mask_is_finite>("mutant/attention_mask_is_finite", "a mask of -10000 instead of -inf",
                                   "masked keys have the bias -10000"),
      make_variant<all_keys_where_none_is>("mutant/attention_all_keys_where_none_is",
                                           "ml-explore/mlx#2395: neither 0 nor NaN in a row fully masked",
                                           "a query whose keys are all masked sees all of them"),
      make_variant<other_head_s_bias>("mutant/attention_other_head", "SC04 triton-lang/triton#8412: axes",
                                      "heads get one another's bias"),
      make_variant<first_row_of_bias>("mutant/attention_first_row_of_bias",
                                      "RP22 unslothai/unsloth#3699: one row for all",
                                      "all queries get the bias of the first"),
  };
  for (auto more : {weight_mutants, gradient_mutants})
    for (variant& m : more()) all.push_back(std::move(m));
  return all;
}

}  // namespace assay::properties::encodings::attention
