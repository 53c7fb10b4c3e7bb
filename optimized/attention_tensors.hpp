// Operations that attend, on tensors. Their inputs are q [B, h, n, d], k [B, h, m, d], v [B, h, m, e], the setting
// `scale`, and the array from which the bias of each head is made.
#pragma once

#include <string>

#include "optimized/tensor_arrays.hpp"

namespace assay::optimized {

template <template <class> class Inputs, class Real>
Inputs<Real> attention_inputs_of(const arguments& call, tensor_arrays<Real>& arrays, const char* bias_name) {
  return {arrays.template input<4>("q"), arrays.template input<4>("k"), arrays.template input<4>("v"),
          arrays.template input<3>(bias_name), core::setting<std::string>(call.settings, "scale") == "inverse_sqrt"};
}

/// Calls attend(execution, inputs, o).
template <template <class> class Inputs, class Attend>
core::tensors attention_on_tensors(const arguments& call, const char* bias_name, Attend attend) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto in = attention_inputs_of<Inputs>(call, arrays, bias_name);
    const auto [B, h, n, d] = in.q.shape;
    attend(call.on, in, arrays.template output<4>("o", {B, h, n, in.v.shape[3]}));
  });
}

/// Calls attend_vjp(execution, inputs, grad_o, gradients). bias_source(inputs) is the array from which the bias is
/// made.
template <template <class> class Inputs, template <class> class Gradients, class BiasSource, class Attend>
core::tensors attention_vjp_on_tensors(const arguments& call, const std::string& name, BiasSource bias_source,
                                       Attend attend_vjp) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto in = attention_inputs_of<Inputs>(call, arrays, name.c_str());
    const Gradients<Real> out{arrays.template output<4>("grad_q", in.q.shape),
                              arrays.template output<4>("grad_k", in.k.shape),
                              arrays.template output<4>("grad_v", in.v.shape),
                              arrays.template output<3>("grad_" + name, bias_source(in).shape)};
    attend_vjp(call.on, in, arrays.template input<4>("grad_o"), out);
  });
}

}  // namespace assay::optimized
