// The operations of forgetting attention on tensors.
#include "optimized/attention_tensors.hpp"
#include "optimized/encodings/fox.hpp"

namespace assay::optimized {
namespace fox {
namespace {

// The decay of the gates in the tensor `input`.
core::tensors evaluate_decay_of(const arguments& call, const char* input, auto decay) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto gates = arrays.template input<3>(input);
    const auto [B, n, h] = gates.shape;
    decay(call.on, gates, arrays.template output<4>("D", {B, h, n, n}));
  });
}

core::tensors evaluate_decay_vjp_of(const arguments& call, const std::string& input, auto decay_vjp) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto gates = arrays.template input<3>(input);
    decay_vjp(call.on, gates, arrays.template input<4>("grad_D"),
              arrays.template output<3>("grad_" + input, gates.shape));
  });
}

}  // namespace
}  // namespace fox

std::vector<routine> fox_routines() {
  using namespace fox;
  return {
      {"fox/decay",
       [](const arguments& call) { return evaluate_decay_of(call, "log_f", [](const auto&... a) { decay(a...); }); }},
      {"fox/decay:vjp",
       [](const arguments& call) {
         return evaluate_decay_vjp_of(call, "log_f",
                                      [](const auto& on, const auto&, const auto&... a) { decay_vjp(on, a...); });
       }},
      {"fox/gated_decay",
       [](const arguments& call) { return evaluate_decay_of(call, "g", [](const auto&... a) { gated_decay(a...); }); }},
      {"fox/gated_decay:vjp",
       [](const arguments& call) {
         return evaluate_decay_vjp_of(call, "g", [](const auto&... a) { gated_decay_vjp(a...); });
       }},
      {"fox/attention",
       [](const arguments& call) {
         return attention_on_tensors<attention_inputs>(call, "log_f", [](const auto&... a) { attention(a...); });
       }},
      {"fox/attention:vjp", [](const arguments& call) {
         return attention_vjp_on_tensors<attention_inputs, attention_gradients>(
             call, "log_f", [](const auto& in) { return in.log_f; }, [](const auto&... a) { attention_vjp(a...); });
       }}};
}

}  // namespace assay::optimized
