// Right, and computed otherwise.
#include <algorithm>

#include "properties/encodings/attention/mutants/mutants.hpp"
#include "properties/encodings/attention/mutants/recipes.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::attention {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

using core::infinity;

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

// Right: exponentials of all pairs, those of masked keys set to 0 before they are added up.
struct masked_before_sum : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_weights<R>([](const std::vector<R>& logits) {
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
    });
  }
};

// Right: the largest bias of a row is subtracted from it, where that is exact.
struct bias_shifted : unchanged_attention {
  static void edit(request& call) {
    core::tensor& bias = call.inputs.at("bias");
    auto& x = bias.values.storage();
    const std::size_t keys = bias.shape()[2];
    for (std::size_t first = 0; first < x.size(); first += keys) {
      const double largest = *std::max_element(x.begin() + static_cast<std::ptrdiff_t>(first),
                                               x.begin() + static_cast<std::ptrdiff_t>(first + keys));
      if (largest == -infinity) continue;
      bool exact = true;
      for (std::size_t j = first; j < first + keys; ++j) {
        const double less = x[j] - largest;
        exact = exact && less + largest == x[j] && core::round_to(call.type, less) == less;
      }
      for (std::size_t j = first; exact && j < first + keys; ++j) x[j] -= largest;
    }
  }
};

struct guarded_exp : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_weights<R>(guarded_softmax<R>);
  }
};

}  // namespace

std::vector<variant> controls() {
  return {make_variant<online_softmax>("control/attention_online_softmax", "a running maximum with rescaling",
                                       "the sum is rescaled whenever the maximum grows"),
          make_variant<by_log_sum_exp>("control/attention_log_sum_exp", "weights as exp(S - LSE)",
                                       "the sum is divided by in the exponent"),
          make_variant<bias_first>("control/attention_bias_first", "the sum in the other order", "bias + scale q . k"),
          make_variant<masked_before_sum>("control/attention_masked_before_sum",
                                          "CT04 state-spaces/mamba#520: masked later",
                                          "exponentials of masked keys are formed, and then set to 0"),
          make_variant<bias_shifted>("control/attention_bias_shifted", "CT09 vllm-project/vllm#945",
                                     "the largest bias of each row is subtracted where that is exact"),
          make_variant<guarded_exp>("control/attention_guarded_exp", "CT10 fla-org/flash-linear-attention#463: a guard",
                                    "no exponent above 0 reaches exp, and that of 0 is 1"),
          make_variant<usual_stages<reference::encodings::attention>>(
              "control/attention_usual_stages", "LlamaAttention of huggingface/transformers",
              "f16 and bf16: sums and softmax in f32, scores, weights and output in the dtype")};
}

}  // namespace assay::properties::encodings::attention
