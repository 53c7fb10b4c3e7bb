// What is wrong between the logits and the weights.

#include "properties/encodings/attention/mutants/mutants.hpp"
#include "properties/encodings/attention/mutants/recipes.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::attention {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

using core::infinity;

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

// A guard against positive exponents that lets no 0 pass.
struct guard_cuts_zero : unchanged_attention {
  template <class R>
  static attention_recipe<R> recipe() {
    return with_weights<R>([](const std::vector<R>& logits) {
      return weights_by_shift<R>(logits, largest_of(logits),
                                 [](const R& x) { return x.number >= 0.0 ? R(0.0) : exp(x); });
    });
  }
};

}  // namespace

std::vector<variant> weight_mutants() {
  return {
      make_variant<no_shift>("mutant/attention_no_shift", "FW14 pytorch/pytorch#1835: overflow", "exp without a shift"),
      make_variant<padded_keys_count>("mutant/attention_padded_keys_count",
                                      "SC13 pytorch/pytorch#139641: padding enters with 0 instead of -inf",
                                      "blocks of four keys are filled up with keys of logit 0"),
      make_variant<mask_after_softmax>("mutant/attention_mask_after_softmax",
                                       "GR04 jax-ml/jax#23842: masked after the exponential",
                                       "masked keys take their share of the weight"),
      make_variant<divides_by_keys>("mutant/attention_divides_by_keys", "a mean for a weighted mean",
                                    "weights are divided by the number of keys"),
      make_variant<last_key_counts_twice>("mutant/attention_last_key_counts_twice",
                                          "SC04 triton-lang/triton#8412: off by one",
                                          "the last key of a block is added twice"),
      make_variant<no_rescaling>("mutant/attention_no_rescaling", "FW10 a running maximum without rescaling",
                                 "an online softmax keeps its sum when the maximum grows"),
      make_variant<guard_cuts_zero>("mutant/attention_guard_cuts_zero", "FW24 fla-org/flash-linear-attention#461",
                                    "a guard against positive exponents also cuts 0: the largest logit"),
  };
}

}  // namespace assay::properties::encodings::attention
