// Mutants whose derivatives are wrong; their values are right.
#include "properties/encodings/heinsen/mutants/mutants.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using namespace reference;  // the schemes below are written in its vocabulary
using namespace reference::encodings;

// The right adjoint, but cotangents from behind token i are carried over only if `carried` says so. The cotangent of
// the last state is always carried.
scheme_change<scan_scheme> with_carry(bool (*carried)(std::size_t i, const R& s0)) {
  return with_adjoint([carried](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                                const R& grad_last, scan_gradients<R> grad) {
    R carry = grad_last;
    for (std::size_t i = s.size(); i-- > 0;) {
      const bool passes = i + 1 == s.size() || carried(i, s0);
      const R before = i == 0 ? s0 : s[i - 1], from_later = passes ? carry : R(0.0);
      scan_adjoint<sigmoid_form, R>({&a[i], 1, 1}, {&h[i], 1, 1}, before, {&s[i], 1, 1}, {&grad_s[i], 1, 1}, from_later,
                                    {{&grad.a[i], 1, 1}, {&grad.h[i], 1, 1}, carry});
    }
    grad.s0 = carry;
  });
}

// The right adjoint with its gradients changed afterwards.
scheme_change<scan_scheme> with_gradients(void (*change)(scan_gradients<R> grad)) {
  return with_adjoint([change](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                               const R& grad_last, scan_gradients<R> grad) {
    scan_adjoint<sigmoid_form, R>(a, h, s0, s, grad_s, grad_last, grad);
    change(grad);
  });
}

void drop_state_gradient_of_short_chunk(scan_gradients<R> grad) {
  if (grad.a.size() < 3) grad.s0 = R(0.0);
}

void stale_cotangent(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                     const R& grad_last, scan_gradients<R> grad) {
  std::vector<R> stale;
  for (std::size_t i = 0; i < s.size(); ++i) stale.push_back(grad_s[i == 0 ? 0 : i - 1]);
  scan_adjoint<sigmoid_form, R>(a, h, s0, s, {stale.data(), 1, stale.size()}, grad_last, grad);
}

// Right until an exponent leaves the range.
void naive_backward(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                    const R& grad_last, scan_gradients<R> grad) {
  R sum = s.size() == 0 ? grad_last : grad_last * exp(-s[s.size() - 1]);
  for (std::size_t i = s.size(); i-- > 0;) {
    sum = sum + grad_s[i] * exp(-s[i]);
    grad.h[i] = exp(h[i]) * sum;
    sum = exp(a[i]) * sum;
    grad.a[i] = exp(i == 0 ? s0 : s[i - 1]) * sum;
  }
  grad.s0 = s.size() == 0 ? grad_last : exp(s0) * sum;
}

// The weights use one maximum, the largest state of the whole lane: terms far below it vanish.
void tangent_about_one_maximum(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, scan_direction<R> d,
                               lane<R> ds) {
  R largest = s0, carried = d.s0;
  for (std::size_t i = 0; i < s.size(); ++i) largest = larger(largest, s[i]);
  for (std::size_t i = 0; i < s.size(); ++i) {
    const R state_weight = exp(s[i] - largest);
    const R w = exp(a[i] + (i == 0 ? s0 : s[i - 1]) - largest), v = exp(h[i] - largest);
    const double inverse = state_weight.number > 0.0 ? 1.0 / state_weight.number : 0.0;
    ds[i] = carried = (w * (d.a[i] + carried) + v * d.h[i]) * R(inverse);
  }
}

}  // namespace

std::vector<variant> gradient_mutants() {
  return {
      changed_heinsen("mutant/gradient_cut_at_blocks", "ml-explore/mlx-swift-lm#574",
                      "the gradient stops at blocks of 16",
                      {.formula = with_carry([](std::size_t i, const R&) { return i % 16 != 15; })}),
      changed_heinsen("mutant/carry_lost_without_state", "pytorch/pytorch#184528",
                      "with s0 = 0 the gradient through later states is lost",
                      {.formula = with_carry([](std::size_t, const R& s0) { return s0.number != 0.0; })}),
      changed_heinsen("mutant/short_chunk_drops_state_gradient", "fla-org/flash-linear-attention#1140",
                      "grad_s0 is 0 for fewer than 3 tokens",
                      {.formula = with_gradients(drop_state_gradient_of_short_chunk)}),
      changed_heinsen("mutant/tail_gradient_not_cleared", "state-spaces/mamba#537",
                      "behind the last block of 16 the decay's gradient is not cleared first",
                      {.formula = with_gradients([](scan_gradients<R> grad) {
                         const std::size_t n = grad.a.size(), tail = n - n % 16;
                         if (tail > 0 && tail < n) grad.a[tail] = grad.a[tail] + grad.a[tail - 1];
                       })}),
      changed_heinsen("mutant/stale_cotangent", "pytorch/pytorch#153679", "cotangents are read from the token before",
                      {.formula = with_adjoint(stale_cotangent)}),
      changed_heinsen("mutant/naive_backward", "pytorch/pytorch#36308",
                      "the gradient is exp(h) times a sum of g exp(-s), which overflows",
                      {.formula = with_adjoint(naive_backward)}),
      changed_heinsen("mutant/shared_gradient_counted_per_row", "fla-org/flash-linear-attention#955",
                      "the bias's gradient is multiplied by the batch size",
                      {.outputs =
                           [](core::tensors& outputs, const request& call) {
                             const auto rows = static_cast<double>(call.inputs.at("s0").shape()[0]);
                             change_each(outputs, "grad_b_H", [rows](double x) { return x * rows; });
                           }}),
      changed_heinsen("mutant/gradient_of_first_row", "huggingface/transformers#22797",
                      "all rows get the first row's gate gradient",
                      {.outputs =
                           [](core::tensors& outputs) {
                             for (const char* name : {"grad_g", "grad_log_p"}) {
                               const auto gradient = outputs.find(name);
                               if (gradient == outputs.end() || gradient->second.shape()[0] == 0) continue;
                               const std::vector<std::size_t> first(gradient->second.shape()[0], 0);
                               gradient->second = core::take(gradient->second, 0, first);
                             }
                           }}),
      changed_heinsen("mutant/tangent_without_decay", "pytorch/pytorch#196705",
                      "the directional derivative ignores the decay's direction",
                      {.inputs =
                           [](request& call) {
                             for (const char* name : {"tangent_g", "tangent_log_p"}) set_to_zero(call.inputs, name);
                           },
                       .representative = true}),
      changed_heinsen("mutant/tangent_about_one_maximum", "pytorch/pytorch#196705",
                      "directional derivatives about one maximum lose a whole prefix",
                      {.formula = [](scan_scheme& scheme) { scheme.tangent = tangent_about_one_maximum; }}),
  };
}

}  // namespace assay::properties::encodings::heinsen
