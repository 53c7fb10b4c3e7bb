// The operations on tensors: which input is which array, and which setting is which.
#include "optimized/encodings/skeleton.hpp"

#include <string>

#include "optimized/tensor_arrays.hpp"

namespace assay::optimized {
namespace skeleton {
namespace {

template <class Real>
skeleton::scale_inputs<Real> inputs_of(const arguments& call, tensor_arrays<Real>& arrays) {
  return {arrays.template input<3>("x"), arrays.template input<1>("a"), arrays.template input<1>("b"),
          arrays.template positions<1>("position"), core::setting<std::string>(call.settings, "sign") == "minus"};
}

core::tensors evaluate_scale(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const skeleton::scale_inputs<Real> in = inputs_of(call, arrays);
    skeleton::scale(call.on, in, arrays.template output<3>("y", in.x.shape));
  });
}

core::tensors evaluate_scale_vjp(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const skeleton::scale_inputs<Real> in = inputs_of(call, arrays);
    skeleton::scale_vjp<Real>(
        call.on, in, arrays.template input<3>("grad_y"),
        {arrays.template output<3>("grad_x", in.x.shape), arrays.template output<1>("grad_a", in.a.shape),
         arrays.template output<1>("grad_b", in.b.shape)});
  });
}

}  // namespace
}  // namespace skeleton

/// Every operation and every derivative, by its name.
std::vector<routine> skeleton_routines() {
  using namespace skeleton;
  return {{"skeleton/scale", evaluate_scale}, {"skeleton/scale:vjp", evaluate_scale_vjp}};
}

}  // namespace assay::optimized
