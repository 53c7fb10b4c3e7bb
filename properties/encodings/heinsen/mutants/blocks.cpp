// Mutants whose faults show at blocks, tails, ranges of exponents, or axes of equal size.
#include <cmath>
#include <limits>

#include "properties/encodings/heinsen/mutants/mutants.hpp"
#include "properties/encodings/heinsen/mutants/recipes.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

// log-sum-exp by max + log1p(exp(-gap)) without a guard at -inf.
template <class R>
R unguarded(const R& x, const R& y) {
  const R z = x - y;
  return larger(x, y) + log1p(exp(larger(z, -z) * R(-1.0)));
}

struct repairs_outputs : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      R state = s0;
      bool input_is_nan = std::isnan(s0.number);
      for (std::size_t i = 0; i < s.size(); ++i) {
        input_is_nan = input_is_nan || std::isnan(a[i].number) || std::isnan(h[i].number);
        state = unguarded(a[i] + state, h[i]);
        s[i] = std::isnan(state.number) && !input_is_nan ? h[i] : state;  // the carried state stays NaN
      }
    });
  }
};

struct empty_block_is_nan : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      R state = s0;
      for (std::size_t i = 0; i < s.size(); ++i) {
        // The totals of two blocks of 8 are joined by the reduction, which has no guard.
        const bool joins = i > 0 && i % 8 == 0;
        s[i] = state = joins ? unguarded(a[i] + state, h[i]) : log_sum_exp(a[i] + state, h[i]);
      }
    });
  }
};

struct exponent_trick_unclamped : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_step<R>([](const R& a, const R& state, const R& h, std::size_t) {
      const R t = a + state;
      const double gap = std::fabs(t.number - h.number);
      return gap > 8.7e6 && std::isfinite(gap) ? R(std::numeric_limits<double>::quiet_NaN()) : log_sum_exp(t, h);
    });
  }
};

struct early_cut_off : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_step<R>([](const R& a, const R& state, const R& h, std::size_t) {
      const R t = a + state;
      return std::fabs(t.number - h.number) > 12.0 ? larger(t, h) : log_sum_exp(t, h);
    });
  }
};

// Chunks in the linear domain about one anchor A_k: s_i = A_i + log(e^s + sum exp(h_j - A_j)), the sums scaled
// by exp(A_k). `anchor` is where in the chunk.
template <class R>
void anchored_chunks(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s, std::size_t chunk, std::size_t anchor) {
  R state = s0;
  for (std::size_t first = 0; first < s.size(); first += chunk) {
    const std::size_t last = std::min(first + chunk, s.size());
    R at_anchor(0.0);
    for (std::size_t i = first; i < std::min(first + anchor, last); ++i) at_anchor = at_anchor + a[i];
    R decay(0.0), sum = exp(state + at_anchor);
    for (std::size_t i = first; i < last; ++i) {
      // The guard covers p = 0 alone.
      if (is_minus_infinity(a[i])) {
        decay = R(0.0);
        at_anchor = R(0.0);
        sum = exp(h[i]);
      } else {
        decay = decay + a[i];
        sum = sum + exp(h[i] + (at_anchor - decay));
      }
      s[i] = (decay - at_anchor) + log(sum);
    }
    state = s[last - 1];
  }
}

struct factored_in_chunks : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>(
        [](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) { anchored_chunks<R>(a, h, s0, s, 32, 0); });
  }
};
struct single_anchor : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>(
        [](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) { anchored_chunks<R>(a, h, s0, s, 64, 32); });
  }
};

struct last_block_combined_wrongly : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      sequential_scan<R>(a, h, s0, s);
      constexpr std::size_t block = 64;
      if (s.size() <= 4 * block) return;
      const std::size_t first = (s.size() - 1) / block * block;
      R state = s[first - 1 - block];
      for (std::size_t i = first; i < s.size(); ++i) s[i] = state = log_sum_exp(a[i] + state, h[i]);
    });
  }
};

struct carry_of_other_geometry : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      R state = s0;
      for (std::size_t i = 0; i < s.size(); ++i) {
        // Blocks of 16, their carries indexed as if they were 32 long.
        if (i > 0 && i % 16 == 0) state = i < 32 ? R(s[i - 1]) : R(s[i / 32 * 16 - 1]);
        s[i] = state = log_sum_exp(a[i] + state, h[i]);
      }
    });
  }
};

struct tail_misses_a_round : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      auto x = elements_with_state(a, h, s0);
      const std::size_t full = x.size() - x.size() % 16;
      for (std::size_t stride = 1; stride < x.size(); stride *= 2) {
        const auto before = x;
        const bool last_round = 2 * stride >= x.size();
        for (std::size_t i = stride; i < x.size(); ++i)
          if (!last_round || i < full || full == 0) x[i] = then(before[i - stride], before[i]);
      }
      for (std::size_t i = 0; i < s.size(); ++i) s[i] = x[i + 1].input;
    });
  }
};

// The last state of the last full block of 16, as if the rest had no checkpoint.
struct state_of_last_full_block : unchanged_heinsen {
  static void finish(const request& call, core::tensors& outputs) {
    const auto s = outputs.find("s");
    if (s == outputs.end()) return;
    const std::size_t tokens = s->second.shape()[1] / 16 * 16;
    outputs.at("s_n") = call.inputs.at("s0");
    if (tokens == 0) return;
    const core::tensor last = core::take(s->second, 1, {tokens - 1});
    std::copy(last.values.storage().begin(), last.values.storage().end(), outputs.at("s_n").values.storage().begin());
  }
};

// [B, n, d] read as [B, d, n], which only equal sizes allow.
core::tensor axes_swapped(const core::tensor& t) {
  core::tensor swapped = t;
  const std::size_t n = t.shape()[1], plane = n * n;
  for (std::size_t i = 0; i < t.size(); ++i)
    swapped.values.storage()[i / plane * plane + i % n * n + i % plane / n] = t.values.storage()[i];
  return swapped;
}
bool is_square(const core::tensor& t) { return t.shape().size() == 3 && t.shape()[1] == t.shape()[2]; }

struct scans_features_of_squares : unchanged_heinsen {
  static void edit(request& call) {
    for (auto& [name, t] : call.inputs)
      if (is_square(t)) t = axes_swapped(t);
  }
  static void finish(const request&, core::tensors& outputs) {
    for (auto& [name, t] : outputs)
      if (is_square(t)) t = axes_swapped(t);
  }
};

struct absent_cotangent_shifts : unchanged_heinsen {
  static void edit(request& call) {
    const auto last = call.inputs.find("grad_s_n");
    const auto states = call.inputs.find("grad_s");
    if (last == call.inputs.end() || states == call.inputs.end()) return;
    const auto& x = last->second.values.storage();
    const bool absent = std::all_of(x.begin(), x.end(), [](double v) { return v == 0.0; });
    const std::size_t n = states->second.shape()[1];
    if (!absent || n == 0) return;
    std::vector<std::size_t> shifted(n);
    for (std::size_t i = 0; i < n; ++i) shifted[i] = std::min(i + 1, n - 1);
    states->second = core::take(states->second, 1, shifted);
  }
};

struct padded_logits_in_backward : unchanged_heinsen {
  static void edit(request& call) {
    const auto last = call.inputs.find("grad_s_n");
    const auto gate = call.inputs.find("g");
    if (last == call.inputs.end() || gate == call.inputs.end()) return;
    // Padding tokens have the logit 0, and so halve the cotangent that comes through them.
    const int padding = static_cast<int>((16 - gate->second.shape()[1] % 16) % 16);
    for (double& x : last->second.values.storage()) x = core::round_to(call.type, std::ldexp(x, -padding));
  }
};

struct pairs_masked_after_exp : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_adjoint<R>([](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                              const R& grad_last, scan_gradients<R> grad) {
      scan_adjoint<sigmoid_form, R>(a, h, s0, s, grad_s, grad_last, grad);
      // exp(A_i - A_j) overflows for j > i, and the mask's 0 makes NaN of it.
      constexpr std::size_t chunk = 32;
      for (std::size_t i = 0; i < s.size(); ++i) {
        R later(0.0);
        for (std::size_t j = i + 1; j < std::min(s.size(), (i / chunk + 1) * chunk); ++j) later = later - a[j];
        grad.h[i] = grad.h[i] + exp(later) * R(0.0);
      }
    });
  }
};

}  // namespace

std::vector<variant> block_mutants() {
  return {
      make_variant<repairs_outputs>("mutant/repairs_outputs", "FW03 tensorflow/tensorflow#115610",
                                    "NaN of a -inf prefix is repaired in the output, not in the carried state"),
      make_variant<empty_block_is_nan>("mutant/empty_block_is_nan", "FW07 microsoft/onnxruntime#28461",
                                       "joining two empty blocks of 8 gives NaN"),
      make_variant<exponent_trick_unclamped>("mutant/exponent_trick_unclamped", "FW17 tenstorrent/tt-metal#55798",
                                             "exp is NaN below -8.7e6"),
      make_variant<early_cut_off>("mutant/early_cut_off", "FW22 shibatch/sleef#523",
                                  "the smaller term is dropped from a gap of 12 on"),
      make_variant<factored_in_chunks>("mutant/factored_in_chunks", "FW27 pytorch/executorch#21417",
                                       "exp(-A) overflows within chunks of 32"),
      make_variant<single_anchor>("mutant/single_anchor", "FW28 NVIDIA/cudnn-frontend#1017",
                                  "one anchor for exp(A) in each chunk of 64"),
      make_variant<last_block_combined_wrongly>("mutant/last_block_combined_wrongly",
                                                "SC07 AccelerateHS/accelerate#348, SC14 pytorch/pytorch#139348",
                                                "beyond 256 tokens the last block of 64 misses the block before it"),
      make_variant<carry_of_other_geometry>("mutant/carry_of_other_geometry", "SC09 intel/torch-xpu-ops#4820",
                                            "carries of blocks of 16 are indexed as if blocks were 32 long"),
      make_variant<tail_misses_a_round>("mutant/tail_misses_a_round", "SC21 ROCm/AMDMIGraphX#4653",
                                        "the tail behind the last 16 misses the last doubling"),
      make_variant<state_of_last_full_block>("mutant/state_of_last_full_block", "ST10 sgl-project/sglang#30938",
                                             "the returned state is that of the last full block of 16"),
      make_variant<scans_features_of_squares>("mutant/scans_features_of_squares", "SC04 triton-lang/triton#8412",
                                              "where n = d the scan runs over features"),
      make_variant<absent_cotangent_shifts>("mutant/absent_cotangent_shifts", "GR10 pytorch/pytorch#172568",
                                            "a zero cotangent of s_n shifts those of s by a token"),
      make_variant<padded_logits_in_backward>("mutant/padded_logits_in_backward", "GR14 state-spaces/mamba#368",
                                              "padding with gate logits of 0 decays the gradient of s_n"),
      make_variant<pairs_masked_after_exp>("mutant/pairs_masked_after_exp",
                                           "GR20 huggingface/transformers#48455, GR04 google/jax#23842",
                                           "the mask comes after exp(A_i - A_j), and inf * 0 gives NaN"),
  };
}

std::vector<unmodelled> not_modelled() {
  return {
      {"DT03 tensorflow/tensorflow#23312", "a sum kept in f32 is right, of class cumsum: a pinned class tells"},
      {"DT07 pytorch/pytorch#187180", "the gate log sigmoid(g) stays within f16; no operation narrows what overflows"},
      {"FW18 meta-pytorch/attention-gym#351",
       "log(1 + exp(x)) is of class linear; no operation multiplies it by a rate"},
      {"FW32 intel/torch-xpu-ops#2816", "no operation has complex inputs"},
      {"IX02 ggml-org/llama.cpp#25568, IX12 pytorch/FBGEMM#5761",
       "tensors reach a candidate contiguous; strided views are checked in the process, by the optimized code's tests"},
      {"IX08 state-spaces/mamba#884, IX09 state-spaces/mamba#1015", "more than 2^31 elements do not fit a gate run"},
      {"SC08 NVIDIA/thrust#1643",
       "combining beyond the end shows in no output; the skeletons run on elements that trap"},
      {"SC20 google/jax#5164", "a regression without an account of its cause"},
      {"SC23 NVIDIA/thrust#692", "one in 1e5 runs fails: no fixed effort shows it"},
      {"ND06 ROCm/rocPRIM#725, ND07 pytorch/pytorch#158003",
       "no fault of a computation: a disabled test, an open question"},
  };
}

}  // namespace assay::properties::encodings::heinsen
