// The operations of rotary position embedding on tensors.
#include <cstdint>
#include <vector>

#include "optimized/encodings/rope.hpp"
#include "optimized/tensor_arrays.hpp"

namespace assay::optimized {
namespace rope {
namespace {

/// Of the frequencies that are given, or of a base.
template <class Real>
prepared_frequencies frequencies_of(const arguments& call, tensor_arrays<Real>& arrays, std::size_t features) {
  if (call.inputs.contains("theta")) return given_frequencies(arrays.template input<1>("theta"));
  const auto rotary = static_cast<std::size_t>(core::setting<std::int64_t>(call.settings, "rotary"));
  return rope::geometric_frequencies(core::setting<double>(call.settings, "base"), rotary == 0 ? features / 2 : rotary,
                                     core::setting<double>(call.settings, "position_scale"));
}
rotary_pairs pairs_of(const arguments& call, const prepared_frequencies& theta) {
  return {theta.size(), core::setting<std::string>(call.settings, "layout") == "half_split"};
}

core::tensors turned(const arguments& call, const char* input, const char* output, bool back) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto x = arrays.template input<4>(input);
    const prepared_frequencies theta = frequencies_of(call, arrays, x.shape[3]);
    rope::rotate(call.on, pairs_of(call, theta), theta, arrays.template positions<2>("position"), back, x,
                 arrays.template output<4>(output, x.shape));
  });
}
core::tensors rotate(const arguments& call) { return turned(call, "x", "y", false); }
core::tensors rotate_vjp(const arguments& call) { return turned(call, "grad_y", "grad_x", true); }

core::tensors rotate_by_vjp(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto x = arrays.template input<4>("x"), grad_y = arrays.template input<4>("grad_y");
    const prepared_frequencies theta = frequencies_of(call, arrays, x.shape[3]);
    const rotary_pairs pairs = pairs_of(call, theta);
    const auto position = arrays.template positions<2>("position");
    rope::rotate(call.on, pairs, theta, position, true, grad_y, arrays.template output<4>("grad_x", x.shape));
    rope::rotate_angles_vjp(call.on, pairs, theta, position, x, grad_y,
                            arrays.template output<1>("grad_theta", {theta.size()}),
                            arrays.template output<2>("grad_position", position.shape));
  });
}

rope::scale scale_of(const arguments& call) {
  const auto& name = core::setting<std::string>(call.settings, "scaling");
  return {name == "interpolation" ? rope::scaling::interpolation
          : name == "ntk"         ? rope::scaling::ntk
                                  : rope::scaling::none,
          core::setting<double>(call.settings, "factor")};
}

core::tensors frequencies(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto base = arrays.template input<1>("base");
    const auto pairs = static_cast<std::size_t>(core::setting<std::int64_t>(call.settings, "pairs"));
    rope::frequencies(call.on, scale_of(call), base, arrays.template output<2>("theta", {base.shape[0], pairs}));
  });
}
core::tensors frequencies_vjp(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto base = arrays.template input<1>("base");
    rope::frequencies_vjp(call.on, scale_of(call), base, arrays.template input<2>("grad_theta"),
                          arrays.template output<1>("grad_base", base.shape));
  });
}

}  // namespace
}  // namespace rope

std::vector<routine> rope_routines() {
  using namespace rope;
  return {{"rope/frequencies", frequencies}, {"rope/frequencies:vjp", frequencies_vjp},
          {"rope/rotate", rotate},           {"rope/rotate:vjp", rotate_vjp},
          {"rope/rotate_by", rotate},        {"rope/rotate_by:vjp", rotate_by_vjp}};
}

}  // namespace assay::optimized
