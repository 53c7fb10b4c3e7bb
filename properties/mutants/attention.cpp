#include "properties/mutants/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/mutants/recipe_variant.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using unchanged_attention = unchanged<attention>;

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class R>
attention_recipe<R> with_weights(std::vector<R> (*weights)(const std::vector<R>&)) {
  attention_recipe<R> how;
  how.weights = weights;
  return how;
}

template <class R>
attention_recipe<R> with_logit(R (*logit)(const R&, const R&, const R&)) {
  attention_recipe<R> how;
  how.logit = logit;
  return how;
}

// exp(S_j - shift) over their sum; masked keys weigh nothing.
template <class R>
std::vector<R> weights_by_shift(const std::vector<R>& logits, R shift) {
  std::vector<R> weights(logits.size(), R(0.0));
  R sum(0.0);
  for (std::size_t j = 0; j < logits.size(); ++j)
    if (!is_minus_infinity(logits[j])) sum = sum + (weights[j] = exp(logits[j] - shift));
  for (R& w : weights)
    if (w.number != 0.0) w = w / sum;
  return weights;
}

template <class R>
R largest_of(const std::vector<R>& logits) {
  R largest(-infinity);
  for (const R& s : logits) largest = larger(largest, s);
  return largest;
}

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

struct no_shift : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_weights<R>([](const std::vector<R>& logits) { return weights_by_shift(logits, R(0.0)); });
  }
};

// Blocks of four keys, the last one filled up with keys of logit 0 and value 0.
struct padded_keys_count : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_weights<R>([](const std::vector<R>& logits) {
      std::vector<R> padded = logits;
      while (padded.size() % 4 != 0) padded.push_back(R(0.0));
      padded = weights_by_shift(padded, largest_of(padded));
      padded.resize(logits.size());
      return padded;
    });
  }
};

struct mask_after_softmax : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_weights<R>([](const std::vector<R>& logits) {
      std::vector<R> seen = logits;
      for (R& s : seen)
        if (is_minus_infinity(s)) s = R(0.0);
      std::vector<R> weights = weights_by_shift(seen, largest_of(seen));
      for (std::size_t j = 0; j < logits.size(); ++j)
        if (is_minus_infinity(logits[j])) weights[j] = R(0.0);
      return weights;
    });
  }
};

struct divides_by_keys : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_weights<R>([](const std::vector<R>& logits) {
      std::vector<R> weights(logits.size(), R(0.0));
      const R shift = largest_of(logits), count(static_cast<double>(logits.size()));
      for (std::size_t j = 0; j < logits.size(); ++j)
        if (!is_minus_infinity(logits[j])) weights[j] = exp(logits[j] - shift) / count;
      return weights;
    });
  }
};

struct last_key_counts_twice : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_weights<R>([](const std::vector<R>& logits) {
      std::vector<R> weights = softmax(logits);
      if (!weights.empty()) weights.back() = weights.back() + weights.back();
      return weights;
    });
  }
};

// Online softmax that forgets to rescale what it has when a larger logit comes.
struct no_rescaling : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_weights<R>([](const std::vector<R>& logits) {
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
    });
  }
};

struct mask_is_finite : unchanged_attention {
  static void edit(request& call) {
    for (double& x : call.inputs.at("bias").values.storage())
      if (x == -infinity) x = core::round_to(call.type, -10000.0);
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

// Right: two passes, weights divided before they multiply the values, the shift of a block of keys rescaled as in fused
// kernels (Milakov and Gimelshein 2018, arXiv 1805.02867).
struct online_softmax : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_weights<R>([](const std::vector<R>& logits) {
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
    });
  }
};

// Right: exp(S - LSE), LSE the shift plus the logarithm of the sum.
struct by_log_sum_exp : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_weights<R>([](const std::vector<R>& logits) {
      const R shift = largest_of(logits);
      R sum(0.0);
      for (const R& s : logits)
        if (!is_minus_infinity(s)) sum = sum + exp(s - shift);
      std::vector<R> weights(logits.size(), R(0.0));
      for (std::size_t j = 0; j < logits.size(); ++j)
        if (!is_minus_infinity(logits[j])) weights[j] = exp((logits[j] - shift) - log(sum));
      return weights;
    });
  }
};

struct bias_first : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_logit<R>([](const R& product, const R& bias, const R& scale) { return bias + product * scale; });
  }
};

template <class Variant>
variant make(const char* id, const char* models, const char* what) {
  return make_variant_of<attention, Variant>(id, models, what);
}

}  // namespace

std::vector<variant> attention_mutants() {
  return {
      make<no_scale>("mutant/attention_no_scale", "a factor forgotten in a port", "q . k is not scaled"),
      make<scaled_by_width>("mutant/attention_scaled_by_width", "RP16 sgl-project/sglang#33558: a factor squared",
                            "q . k is divided by d"),
      make<bias_scaled_too>("mutant/attention_bias_scaled", "NVIDIA/TensorRT-Model-Connect#32: Falcon's ALiBi",
                            "the bias is scaled with q . k"),
      make<bias_forgotten>("mutant/attention_bias_forgotten",
                           "huggingface/transformers#29067: a fused path without the bias", "the bias is not added"),
      make<bias_twice>("mutant/attention_bias_twice", "T504 huggingface/transformers#8518", "the bias is added twice"),
      make<no_shift>("mutant/attention_no_shift", "FW14 pytorch/pytorch#1835: overflow", "exp without a shift"),
      make<padded_keys_count>("mutant/attention_padded_keys_count", "AL05 lucidrains/x-transformers#242",
                              "blocks of four keys are filled up with keys of logit 0"),
      make<mask_after_softmax>("mutant/attention_mask_after_softmax", "CT04 state-spaces/mamba#520, had it been true",
                               "masked keys take their share of the weight"),
      make<divides_by_keys>("mutant/attention_divides_by_keys", "a mean for a weighted mean",
                            "weights are divided by the number of keys"),
      make<last_key_counts_twice>("mutant/attention_last_key_counts_twice", "SC04 triton-lang/triton#8412: off by one",
                                  "the last key of a block is added twice"),
      make<no_rescaling>("mutant/attention_no_rescaling", "FW10 a running maximum without rescaling",
                         "an online softmax keeps its sum when the maximum grows"),
      make<mask_is_finite>("mutant/attention_mask_is_finite", "a mask of -10000 instead of -inf",
                           "masked keys have the bias -10000"),
      make<other_head_s_bias>("mutant/attention_other_head", "SC04 triton-lang/triton#8412: axes",
                              "heads get one another's bias"),
      make<first_row_of_bias>("mutant/attention_first_row_of_bias", "RP19 PaddlePaddle/PaddleNLP#7882: a slice",
                              "all queries get the bias of the first"),
      make<no_mean_in_gradient>("mutant/attention_no_mean_in_gradient", "GR07 pytorch/pytorch#196705: a term dropped",
                                "the gradient of the logits lacks the mean"),
      make<mean_unweighted_in_gradient>("mutant/attention_mean_unweighted", "GR07 pytorch/pytorch#196705",
                                        "the mean in the gradient of the logits is not weighted"),
      make<no_scale_in_query_gradient>("mutant/attention_no_scale_in_gradient", "a factor forgotten in a backward pass",
                                       "the gradient of q is not scaled"),
      make<bias_gradient_averaged>("mutant/attention_bias_gradient_averaged",
                                   "GR04 jax-ml/jax#23842: a reduction over the batch",
                                   "the gradient of the bias is averaged over the batch, not added up"),
  };
}

std::vector<variant> attention_controls() {
  return {make<online_softmax>("control/attention_online_softmax", "a running maximum with rescaling",
                               "the sum is rescaled whenever the maximum grows"),
          make<by_log_sum_exp>("control/attention_log_sum_exp", "weights as exp(S - LSE)",
                               "the sum is divided by in the exponent"),
          make<bias_first>("control/attention_bias_first", "the sum in the other order", "bias + scale q . k")};
}

}  // namespace assay::properties
