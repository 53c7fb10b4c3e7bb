// The operations of forgetting attention on tensors.
#include "optimized/encodings/fox.hpp"

#include <string>

#include "optimized/tensor_arrays.hpp"

namespace assay::optimized {
namespace fox {
namespace {

// The decay of gates that are given as `input`.
core::tensors evaluate_decay_of(const arguments& call, const char* input, auto decay) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto gates = arrays.template input<3>(input);
    const auto [B, n, h] = gates.shape;
    decay(call.on, gates, arrays.template output<4>("D", {B, h, n, n}));
  });
}
core::tensors evaluate_decay(const arguments& call) {
  return evaluate_decay_of(call, "log_f", [](auto&&... a) { fox::decay(a...); });
}
core::tensors evaluate_gated_decay(const arguments& call) {
  return evaluate_decay_of(call, "g", [](auto&&... a) { fox::gated_decay(a...); });
}

core::tensors evaluate_decay_vjp(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto grad_D = arrays.template input<4>("grad_D");
    const auto [B, h, n, m] = grad_D.shape;
    fox::decay_vjp(call.on, grad_D, arrays.template output<3>("grad_log_f", {B, n, h}));
  });
}
core::tensors evaluate_gated_decay_vjp(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto g = arrays.template input<3>("g");
    fox::gated_decay_vjp(call.on, g, arrays.template input<4>("grad_D"), arrays.template output<3>("grad_g", g.shape));
  });
}

template <class Real>
fox::attention_inputs<Real> inputs_of(const arguments& call, tensor_arrays<Real>& arrays) {
  return {arrays.template input<4>("q"), arrays.template input<4>("k"), arrays.template input<4>("v"),
          arrays.template input<3>("log_f"), core::setting<std::string>(call.settings, "scale") == "inverse_sqrt"};
}

core::tensors evaluate_attention(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const fox::attention_inputs<Real> in = inputs_of(call, arrays);
    fox::attention(call.on, in, arrays.template output<4>("o", in.v.shape));
  });
}

core::tensors evaluate_attention_vjp(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const fox::attention_inputs<Real> in = inputs_of(call, arrays);
    fox::attention_vjp<Real>(
        call.on, in, arrays.template input<4>("grad_o"),
        {arrays.template output<4>("grad_q", in.q.shape), arrays.template output<4>("grad_k", in.k.shape),
         arrays.template output<4>("grad_v", in.v.shape), arrays.template output<3>("grad_log_f", in.log_f.shape)});
  });
}

}  // namespace
}  // namespace fox

std::vector<routine> fox_routines() {
  using namespace fox;
  return {{"fox/decay", evaluate_decay},
          {"fox/decay:vjp", evaluate_decay_vjp},
          {"fox/gated_decay", evaluate_gated_decay},
          {"fox/gated_decay:vjp", evaluate_gated_decay_vjp},
          {"fox/attention", evaluate_attention},
          {"fox/attention:vjp", evaluate_attention_vjp}};
}

}  // namespace assay::optimized
