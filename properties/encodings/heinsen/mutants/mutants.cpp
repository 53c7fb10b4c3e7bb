#include "properties/encodings/heinsen/mutants/mutants.hpp"

#include <cmath>

namespace assay::properties::encodings::heinsen {
namespace {

using namespace reference;  // the schemes below are written in its vocabulary
using namespace reference::encodings;

void scan_with_restarting_sum(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  R sum(0.0), relative = s0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    sum = i % 16 == 0 ? a[i] : sum + a[i];
    relative = log_sum_exp(relative, h[i] - sum);
    s[i] = relative + sum;
  }
}

struct swapped_step {
  R decay, input;
  friend swapped_step then(const swapped_step& first, const swapped_step& second) {
    return {first.decay + second.decay, log_sum_exp(second.input + first.decay, first.input)};
  }
};
void swapped_tree_scan(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  std::vector<swapped_step> elements{{R(0.0), s0}};
  for (std::size_t i = 0; i < s.size(); ++i) elements.push_back({a[i], h[i]});
  const auto prefixes = balanced_prefixes(elements);
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = prefixes[i + 1].input;
}

R sum_without_nan(const R& t, const R& h) {
  const R m(std::fmax(t.number, h.number));  // fmax ignores a NaN
  return log_sum_exp(R(std::isnan(t.number) ? m.number : t.number), R(std::isnan(h.number) ? m.number : h.number));
}

void scan_about_one_maximum(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  R largest = s0;
  for (std::size_t i = 0; i < s.size(); ++i) largest = larger(largest, h[i]);
  R sum = exp(s0 - largest);
  for (std::size_t i = 0; i < s.size(); ++i) {
    sum = exp(a[i]) * sum + exp(h[i] - largest);
    s[i] = largest + log(sum);
  }
}

void adjoint_wrong_at_blocks(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                             const R& grad_last, scan_gradients<R> grad) {
  R carry = grad_last;
  for (std::size_t i = s.size(); i-- > 0;) {
    const R t = a[i] + (i == 0 ? s0 : s[i - 1]);
    const weight_pair<R> weight = carry_weights(t - h[i]);
    // At a block's last token the incoming carry multiplies the local term instead of joining it.
    const bool edge = i % 16 == 15 && i + 1 < s.size();
    const R lambda = edge ? grad_s[i] * weight.w + carry : grad_s[i] + carry;
    grad.a[i] = carry = weight.w * lambda;
    grad.h[i] = weight.v * lambda;
  }
  grad.s0 = carry;
}

void unguarded_adjoint(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                       const R& grad_last, scan_gradients<R> grad) {
  R carry = grad_last;
  for (std::size_t i = s.size(); i-- > 0;) {
    const R lambda = grad_s[i] + carry;
    grad.h[i] = exp(h[i] - s[i]) * lambda;
    grad.a[i] = carry = exp(a[i] + (i == 0 ? s0 : s[i - 1]) - s[i]) * lambda;
  }
  grad.s0 = carry;
}

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all{
      changed_heinsen("mutant/ignores_initial_state", "state-spaces/mamba#641, fla-org/flash-linear-attention#90",
                      "the initial state is ignored when there is more than one token",
                      {.formula = with_scan([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
                         sequential_scan<R>(a, h, s.size() > 1 ? R(0.0) : s0, s);
                       }),
                       .representative = true}),
      changed_heinsen("mutant/decay_sum_restarts", "flashinfer-ai/flashinfer#2768",
                      "the sum of log p restarts at each tile of 16 tokens",
                      {.formula = with_scan(scan_with_restarting_sum), .representative = true}),
      changed_heinsen("mutant/swapped_combine", "TheHPXProject/hpx#1958",
                      "the scan combines its operands in the wrong order", {.formula = with_scan(swapped_tree_scan)}),
      changed_heinsen(
          "mutant/naive_log_add_exp", "llvm/torch-mlir#4748", "log(exp(x) + exp(y)) without a shift",
          {.formula = with_sum([](const R& t, const R& h) { return log(exp(t) + exp(h)); }), .representative = true}),
      changed_heinsen("mutant/unguarded_infinite_prefix", "tinygrad/tinygrad#17853", "a -inf prefix gives NaN",
                      {.formula = with_sum(unguarded_sum)}),
      changed_heinsen("mutant/drops_nan", "tensorflow/tensorflow#127513",
                      "a NaN input is replaced by the running maximum",
                      {.formula = with_sum(sum_without_nan), .representative = true}),
      changed_heinsen("mutant/carries_input", "microsoft/onnxscript#904",
                      "the next state is built from the last input, not the last state",
                      {.formula = with_scan([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
                         for (std::size_t i = 0; i < s.size(); ++i)
                           s[i] = log_sum_exp(a[i] + (i == 0 ? s0 : h[i - 1]), h[i]);
                       })}),
      changed_heinsen(
          "mutant/log_of_sigmoid", "pytorch/pytorch#1835",
          "the gate is log(sigmoid(g)), which loses the decay at both ends",
          {.formula = [](scan_scheme& scheme) { scheme.gate = [](const R& g) { return log(sigmoid(g)); }; }}),
      changed_heinsen("mutant/guarded_exp_at_zero", "fla-org/flash-linear-attention#461",
                      "a guard against positive exponents also cuts log p = 0",
                      {.formula = with_step([](const R& a, const R& state, const R& h, std::size_t) {
                         return a.number >= 0.0 ? h : log_sum_exp(a + state, h);
                       })}),
      changed_heinsen("mutant/global_shift", "llvm/torch-mlir#4748",
                      "one maximum over the whole lane as shift: a late spike wipes out what came before",
                      {.formula = with_scan(scan_about_one_maximum), .representative = true}),
      changed_heinsen("mutant/backward_carry_at_blocks", "proger/accelerated-scan#15",
                      "the gradient carried between blocks of 16 scales the wrong term",
                      {.formula = with_adjoint(adjoint_wrong_at_blocks)}),
      changed_heinsen("mutant/unguarded_backward", "pytorch/pytorch#49724, google/jax#6811",
                      "the gradient is NaN where a state is -inf", {.formula = with_adjoint(unguarded_adjoint)}),
      changed_heinsen("mutant/final_state_detached", "state-spaces/mamba#258",
                      "the cotangent of the last state is dropped",
                      {.inputs = [](request& call) { set_to_zero(call.inputs, "grad_s_n"); }, .representative = true}),
      changed_heinsen("mutant/first_row_state", "BlinkDL/RWKV-LM#241",
                      "all batch rows start from the first row's state",
                      {.inputs =
                           [](request& call) {
                             core::tensor& s0 = call.inputs.at("s0");
                             const std::size_t batch = s0.shape()[0];
                             if (batch > 0) s0 = core::take(s0, 0, std::vector<std::size_t>(batch, 0));
                           },
                       .representative = true}),
  };
  for (auto more : {forward_mutants, state_mutants, gradient_mutants, block_mutants, precision_mutants, memory_mutants,
                    setting_mutants, linear_tree_mutants})
    for (variant& m : more()) all.push_back(std::move(m));
  return all;
}

std::vector<unmodelled> not_modelled() {
  return {
      {"tensorflow/tensorflow#23312", "a sum kept in f32 is right, of class cumsum: a pinned class tells"},
      {"pytorch/pytorch#187180", "the gate log sigmoid(g) stays within f16; no operation narrows what overflows"},
      {"meta-pytorch/attention-gym#351", "log(1 + exp(x)) is of class linear; no operation multiplies it by a rate"},
      {"intel/torch-xpu-ops#2816", "no operation has complex inputs"},
      {"ggml-org/llama.cpp#25568, pytorch/FBGEMM#5761",
       "tensors reach a candidate contiguous; strided views are checked in the process, by the optimized code's tests"},
      {"state-spaces/mamba#884, state-spaces/mamba#1015", "more than 2^31 elements do not fit a gate run"},
      {"NVIDIA/thrust#1643", "combining beyond the end shows in no output; the skeletons run on elements that trap"},
      {"google/jax#5164", "a regression without an account of its cause"},
      {"NVIDIA/thrust#692", "one in 1e5 runs fails: no fixed effort shows it"},
      {"ROCm/rocPRIM#725, pytorch/pytorch#158003", "no fault of a computation: a disabled test, an open question"},
  };
}

}  // namespace assay::properties::encodings::heinsen
