// Mutants whose faults show at blocks, tails, exponent ranges, or axes of equal size.
#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/encodings/heinsen/mutants/mutants.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using namespace reference;  // the schemes below are written in its vocabulary
using namespace reference::encodings;

void scan_with_repaired_outputs(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  R state = s0;
  bool input_is_nan = std::isnan(s0.number);
  for (std::size_t i = 0; i < s.size(); ++i) {
    input_is_nan = input_is_nan || std::isnan(a[i].number) || std::isnan(h[i].number);
    state = unguarded_sum(a[i] + state, h[i]);
    s[i] = std::isnan(state.number) && !input_is_nan ? h[i] : state;  // the carried state stays NaN
  }
}

// Chunks in the linear domain with one anchor A_k: s_i = A_i + log(e^s + sum exp(h_j - A_j)), where the sums are scaled
// by exp(A_k). `anchor` is the place of k in the chunk.
void anchored_scan(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s, std::size_t chunk, std::size_t anchor) {
  R state = s0;
  for (std::size_t first = 0; first < s.size(); first += chunk) {
    const std::size_t last = std::min(first + chunk, s.size());
    R anchor_decay(0.0);
    for (std::size_t i = first; i < std::min(first + anchor, last); ++i) anchor_decay = anchor_decay + a[i];
    R decay(0.0), sum = exp(state + anchor_decay);
    for (std::size_t i = first; i < last; ++i) {
      // The guard covers only p = 0.
      if (is_minus_infinity(a[i])) {
        decay = R(0.0);
        anchor_decay = R(0.0);
        sum = exp(h[i]);
      } else {
        decay = decay + a[i];
        sum = sum + exp(h[i] + (anchor_decay - decay));
      }
      s[i] = (decay - anchor_decay) + log(sum);
    }
    state = s[last - 1];
  }
}
scheme_change<scan_scheme> with_anchors(std::size_t chunk, std::size_t anchor) {
  return with_scan([chunk, anchor](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
    anchored_scan(a, h, s0, s, chunk, anchor);
  });
}

void scan_with_wrong_last_block(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  sequential_scan<R>(a, h, s0, s);
  constexpr std::size_t block = 64;
  if (s.size() <= 4 * block) return;
  const std::size_t first = (s.size() - 1) / block * block;
  R state = s[first - 1 - block];
  for (std::size_t i = first; i < s.size(); ++i) s[i] = state = log_sum_exp(a[i] + state, h[i]);
}

void scan_with_wrong_carries(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  R state = s0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (i > 0 && i % 16 == 0) state = i < 32 ? s[i - 1] : s[i / 32 * 16 - 1];
    s[i] = state = log_sum_exp(a[i] + state, h[i]);
  }
}

void doubling_scan_with_short_tail(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  auto x = elements_with_state(a, h, s0);
  const std::size_t full = x.size() - x.size() % 16;
  for (std::size_t stride = 1; stride < x.size(); stride *= 2) {
    const auto before = x;
    const bool last_round = 2 * stride >= x.size();
    for (std::size_t i = stride; i < x.size(); ++i)
      if (!last_round || i < full || full == 0) x[i] = then(before[i - stride], before[i]);
  }
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = x[i + 1].input;
}

// Tokens after the last full block have no checkpoint.
void return_state_of_last_full_block(core::tensors& outputs, const request& call) {
  const auto s = outputs.find("s");
  if (s == outputs.end()) return;
  const std::size_t tokens = s->second.shape()[1] / 16 * 16;
  core::tensor& s_n = outputs.at("s_n");
  s_n = call.inputs.at("s0");
  if (tokens > 0) s_n.values.storage() = core::take(s->second, 1, {tokens - 1}).values.storage();
}

// Reads [B, n, d] as [B, d, n]; only equal sizes allow that.
void swap_axes_of_squares(core::tensors& all) {
  for (auto& [name, t] : all) {
    if (t.shape().size() != 3 || t.shape()[1] != t.shape()[2]) continue;
    const core::tensor right = t;
    const std::size_t n = t.shape()[1], plane = n * n;
    for (std::size_t i = 0; i < t.size(); ++i)
      t.values.storage()[i / plane * plane + i % n * n + i % plane / n] = right.values.storage()[i];
  }
}

void shift_cotangents_of_states(request& call) {
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

// Padding tokens have the logit 0 and halve the cotangent that passes through them.
void pad_logits_with_zeros(request& call) {
  if (!call.inputs.contains("g")) return;
  const int padding = static_cast<int>((16 - call.inputs.at("g").shape()[1] % 16) % 16);
  change_each(call.inputs, "grad_s_n", [padding](double x) { return std::ldexp(x, -padding); });
}

// exp(A_i - A_j) overflows for j > i, and multiplying by the mask's 0 gives NaN.
void adjoint_masked_after_exp(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                              const R& grad_last, scan_gradients<R> grad) {
  scan_adjoint<sigmoid_form, R>(a, h, s0, s, grad_s, grad_last, grad);
  constexpr std::size_t chunk = 32;
  for (std::size_t i = 0; i < s.size(); ++i) {
    R later(0.0);
    for (std::size_t j = i + 1; j < std::min(s.size(), (i / chunk + 1) * chunk); ++j) later = later - a[j];
    grad.h[i] = grad.h[i] + exp(later) * R(0.0);
  }
}

}  // namespace

std::vector<variant> block_mutants() {
  return {
      changed_heinsen("mutant/repairs_outputs", "tensorflow/tensorflow#115610",
                      "NaN of a -inf prefix is repaired in the output, not in the carried state",
                      {.formula = with_scan(scan_with_repaired_outputs)}),
      // The reduction that joins the totals of two blocks of 8 has no guard.
      changed_heinsen("mutant/empty_block_is_nan", "microsoft/onnxruntime#28461",
                      "joining two empty blocks of 8 gives NaN",
                      {.formula = with_step([](const R& a, const R& state, const R& h, std::size_t i) {
                         const bool joins = i > 0 && i % 8 == 0;
                         return joins ? unguarded_sum(a + state, h) : log_sum_exp(a + state, h);
                       })}),
      changed_heinsen("mutant/exponent_trick_unclamped", "tenstorrent/tt-metal#55798", "exp is NaN below -8.7e6",
                      {.formula = with_sum([](const R& t, const R& h) {
                         const double gap = std::fabs(t.number - h.number);
                         const bool wraps = gap > 8.7e6 && std::isfinite(gap);
                         return wraps ? R(std::numeric_limits<double>::quiet_NaN()) : log_sum_exp(t, h);
                       })}),
      changed_heinsen("mutant/early_cut_off", "shibatch/sleef#523", "the smaller term is dropped from a gap of 12 on",
                      {.formula = with_sum([](const R& t, const R& h) {
                         return std::fabs(t.number - h.number) > 12.0 ? larger(t, h) : log_sum_exp(t, h);
                       })}),
      changed_heinsen("mutant/factored_in_chunks", "pytorch/executorch#21417", "exp(-A) overflows within chunks of 32",
                      {.formula = with_anchors(32, 0)}),
      changed_heinsen("mutant/single_anchor", "NVIDIA/cudnn-frontend#1017", "one anchor for exp(A) in each chunk of 64",
                      {.formula = with_anchors(64, 32)}),
      changed_heinsen("mutant/last_block_combined_wrongly", "AccelerateHS/accelerate#348, pytorch/pytorch#139348",
                      "beyond 256 tokens the last block of 64 misses the block before it",
                      {.formula = with_scan(scan_with_wrong_last_block)}),
      changed_heinsen("mutant/carry_of_other_geometry", "intel/torch-xpu-ops#4820",
                      "carries of blocks of 16 are indexed as if blocks were 32 long",
                      {.formula = with_scan(scan_with_wrong_carries)}),
      changed_heinsen("mutant/tail_misses_a_round", "ROCm/AMDMIGraphX#4653",
                      "the tail behind the last 16 misses the last doubling",
                      {.formula = with_scan(doubling_scan_with_short_tail)}),
      changed_heinsen("mutant/state_of_last_full_block", "sgl-project/sglang#30938",
                      "the returned state is that of the last full block of 16",
                      {.outputs = return_state_of_last_full_block}),
      changed_heinsen(
          "mutant/scans_features_of_squares", "triton-lang/triton#8412", "where n = d the scan runs over features",
          {.inputs = [](request& call) { swap_axes_of_squares(call.inputs); }, .outputs = swap_axes_of_squares}),
      changed_heinsen("mutant/absent_cotangent_shifts", "pytorch/pytorch#172568",
                      "a zero cotangent of s_n shifts those of s by a token", {.inputs = shift_cotangents_of_states}),
      changed_heinsen("mutant/padded_logits_in_backward", "state-spaces/mamba#368",
                      "padding with gate logits of 0 decays the gradient of s_n", {.inputs = pad_logits_with_zeros}),
      changed_heinsen("mutant/pairs_masked_after_exp", "huggingface/transformers#48455, google/jax#23842",
                      "the mask comes after exp(A_i - A_j), and inf * 0 gives NaN",
                      {.formula = with_adjoint(adjoint_masked_after_exp)}),
  };
}

}  // namespace assay::properties::encodings::heinsen
