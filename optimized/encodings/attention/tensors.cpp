// The operations of dot-product attention on tensors.
#include "optimized/encodings/attention.hpp"

#include <string>

#include "optimized/tensor_arrays.hpp"

namespace assay::optimized {
namespace attention {
namespace {

template <class Real>
attention::inputs<Real> inputs_of(const arguments& call, tensor_arrays<Real>& arrays) {
  return {arrays.template input<4>("q"), arrays.template input<4>("k"), arrays.template input<4>("v"),
          arrays.template input<3>("bias"), core::setting<std::string>(call.settings, "scale") == "inverse_sqrt"};
}

core::tensors evaluate_output(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const attention::inputs<Real> in = inputs_of(call, arrays);
    const auto [B, h, n, d] = in.q.shape;
    attention::output(call.on, in, arrays.template output<4>("o", {B, h, n, in.v.shape[3]}));
  });
}

core::tensors evaluate_output_vjp(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const attention::inputs<Real> in = inputs_of(call, arrays);
    attention::output_vjp<Real>(
        call.on, in, arrays.template input<4>("grad_o"),
        {arrays.template output<4>("grad_q", in.q.shape), arrays.template output<4>("grad_k", in.k.shape),
         arrays.template output<4>("grad_v", in.v.shape), arrays.template output<3>("grad_bias", in.bias.shape)});
  });
}

}  // namespace
}  // namespace attention

std::vector<routine> attention_routines() {
  using namespace attention;
  return {{"attention/output", evaluate_output}, {"attention/output:vjp", evaluate_output_vjp}};
}

}  // namespace assay::optimized
