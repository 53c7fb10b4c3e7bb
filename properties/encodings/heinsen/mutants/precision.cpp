// Mutants that compute in less precision than they declare: right formulas, wrong dtypes.
#include "properties/encodings/heinsen/mutants/mutants.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using namespace reference;  // the schemes below are written in its vocabulary
using namespace reference::encodings;
using core::dtype;

// x rounded as a tensor of the storage dtype holds it.
R stored(dtype storage, const R& x) { return R(core::round_to(storage, x.number)); }

// Only the gradient of s0 is summed in storage, and only if s0 is not -inf: such states have rules of their own.
void state_gradient_in_storage(scan_scheme& scheme, dtype storage) {
  scheme.adjoint = [storage](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                             const R& grad_last, scan_gradients<R> grad) {
    scan_adjoint<sigmoid_form, R>(a, h, s0, s, grad_s, grad_last, grad);
    if (is_minus_infinity(s0)) return;
    grad.s0 = stored(storage, grad_last);
    for (std::size_t i = s.size(); i-- > 0;) {
      const weight_pair<R> weight = carry_weights(a[i] + (i == 0 ? s0 : s[i - 1]) - h[i]);
      grad.s0 = stored(storage, weight.w * (grad_s[i] + grad.s0));
    }
  };
}

void gate_gradient_by_difference(scan_scheme& scheme, dtype storage) {
  scheme.adjoint = [storage](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                             const R& grad_last, scan_gradients<R> grad) {
    scan_adjoint<sigmoid_form, R>(a, h, s0, s, grad_s, grad_last, grad);
    R state_sum = stored(storage, grad_last), input_sum(0.0);
    for (std::size_t i = s.size(); i-- > 0;) {
      state_sum = stored(storage, state_sum + grad_s[i]);
      input_sum = stored(storage, input_sum + grad.h[i]);
      if (!is_minus_infinity(s[i])) grad.a[i] = state_sum - input_sum;
    }
  };
}

}  // namespace

std::vector<variant> precision_mutants() {
  return {
      // The variant declares nothing: the default is f32 for f16 and bf16.
      changed_heinsen("mutant/narrow_inside", "huggingface/transformers#47787", "every operation is rounded to bf16",
                      {.arithmetic = in_storage, .declared = nothing_declared, .shown_in = dtype::bf16}),
      changed_heinsen("mutant/carry_in_storage", "pytorch/pytorch#141802",
                      "the carried state is rounded to bf16 at each step",
                      {.formula =
                           [](scan_scheme& scheme, dtype storage) {
                             with_step([storage](const R& a, const R& state, const R& h, std::size_t) {
                               return stored(storage, log_sum_exp(a + state, h));
                             })(scheme, storage);
                           },
                       .shown_in = dtype::bf16}),
      changed_heinsen("mutant/decayed_state_in_storage", "huggingface/transformers#47787",
                      "log p + s is rounded to f16 before the update",
                      {.formula =
                           [](scan_scheme& scheme, dtype storage) {
                             with_step([storage](const R& a, const R& state, const R& h, std::size_t) {
                               return log_sum_exp(stored(storage, a + state), h);
                             })(scheme, storage);
                           },
                       .shown_in = dtype::f16}),
      changed_heinsen("mutant/state_gradient_in_storage", "fla-org/flash-linear-attention#37",
                      "the gradient of s0 is accumulated in bf16",
                      {.formula = state_gradient_in_storage, .shown_in = dtype::bf16}),
      changed_heinsen("mutant/gate_gradient_by_difference", "fla-org/flash-linear-attention#29",
                      "the decay's gradient is the difference of two sums kept in bf16",
                      {.formula = gate_gradient_by_difference, .shown_in = dtype::bf16}),
      // exp(-g) overflows where -g is more than the logarithm of the largest number.
      changed_heinsen(
          "mutant/gate_in_storage", "sbryngelson/ANEForge#113", "the gate's softplus is computed in f16 and overflows",
          {.formula =
               [](scan_scheme& scheme, dtype storage) {
                 scheme.gate = [storage](const R& g) { return -stored(storage, log1p(stored(storage, exp(-g)))); };
               },
           .shown_in = dtype::f16}),
  };
}

}  // namespace assay::properties::encodings::heinsen
