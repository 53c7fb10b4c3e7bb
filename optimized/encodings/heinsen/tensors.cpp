// The operations of the log-linear position encoding on tensors.
#include <string>
#include <vector>

#include "optimized/encodings/heinsen.hpp"
#include "optimized/tensor_arrays.hpp"

namespace assay::optimized {
namespace heinsen {
namespace {

// The form in which log p is given, with the names of its input and of its functions.
struct log_decay {
  static constexpr const char* input = "log_p";
  static constexpr auto forward = [](auto&&... arguments) { heinsen::scan(arguments...); };
  static constexpr auto vjp = [](auto&&... arguments) { heinsen::scan_vjp(arguments...); };
  static constexpr auto jvp = [](auto&&... arguments) { heinsen::scan_jvp(arguments...); };
};

struct gate_logit {
  static constexpr const char* input = "g";
  static constexpr auto forward = [](auto&&... arguments) { heinsen::gated_scan(arguments...); };
  static constexpr auto vjp = [](auto&&... arguments) { heinsen::gated_scan_vjp(arguments...); };
  static constexpr auto jvp = [](auto&&... arguments) { heinsen::gated_scan_jvp(arguments...); };
};

template <class Decay, class Real>
heinsen::scan_inputs<Real> inputs_of(tensor_arrays<Real>& arrays) {
  return {arrays.template input<3>(Decay::input), arrays.template input<3>("h"), arrays.template state<2>("s0")};
}

template <class Decay>
core::tensors evaluate_scan(const arguments& call) {
  return with_stored_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const heinsen::scan_inputs<Real> in = inputs_of<Decay>(arrays);
    Decay::forward(call.on, in,
                   heinsen::scan_outputs<Real>{arrays.template output<3>("s", in.h.shape),
                                               arrays.template output<2, arithmetic_of<Real>>("s_n", in.s0.shape)});
  });
}

// The states with which the adjoint starts. 16-bit calls have none, because their adjoint computes the states itself.
template <class Decay, class Real>
view<const Real, 3> saved_states(const arguments& call, tensor_arrays<Real>& arrays,
                                 const heinsen::scan_inputs<Real>& in) {
  if constexpr (std::is_same_v<Real, arithmetic_of<Real>>) {
    const auto s = arrays.template scratch<3>(in.h.shape);
    Decay::forward(call.on, in, heinsen::scan_outputs<Real>{s, arrays.template scratch<2>(in.s0.shape)});
    return s;
  }
  return {};
}

template <class Decay>
core::tensors evaluate_scan_vjp(const arguments& call) {
  return with_stored_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const heinsen::scan_inputs<Real> in = inputs_of<Decay>(arrays);
    Decay::vjp(call.on, in,
               heinsen::scan_cotangents<Real>{saved_states<Decay>(call, arrays, in), arrays.template input<3>("grad_s"),
                                              arrays.template state<2>("grad_s_n")},
               heinsen::scan_gradients<Real>{arrays.template output<3>(std::string("grad_") + Decay::input, in.h.shape),
                                             arrays.template output<3>("grad_h", in.h.shape),
                                             arrays.template output<2, arithmetic_of<Real>>("grad_s0", in.s0.shape)});
  });
}

template <class Decay>
core::tensors evaluate_scan_jvp(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const heinsen::scan_inputs<Real> in = inputs_of<Decay>(arrays);
    Decay::jvp(
        call.on, in,
        heinsen::scan_direction<Real>{arrays.template input<3>(std::string("tangent_") + Decay::input),
                                      arrays.template input<3>("tangent_h"), arrays.template input<2>("tangent_s0")},
        heinsen::scan_outputs<Real>{arrays.template scratch<3>(in.h.shape), arrays.template scratch<2>(in.s0.shape)},
        heinsen::scan_tangents<Real>{arrays.template output<3>("tangent_s", in.h.shape),
                                     arrays.template output<2>("tangent_s_n", in.s0.shape)});
  });
}

template <class Real>
heinsen::embed_inputs<Real> embed_inputs_of(tensor_arrays<Real>& arrays) {
  return {arrays.template input<3>("x"),   arrays.template input<2>("W_H"), arrays.template input<1>("b_H"),
          arrays.template input<2>("W_R"), arrays.template input<1>("b_R"), arrays.template input<2>("s0")};
}

core::tensors evaluate_embed(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const heinsen::embed_inputs<Real> in = embed_inputs_of(arrays);
    heinsen::embed_position<Real>(
        call.on, in, {arrays.template output<3>("y", in.x.shape), arrays.template output<2>("s_n", in.s0.shape)});
  });
}

core::tensors evaluate_embed_vjp(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const heinsen::embed_inputs<Real> in = embed_inputs_of(arrays);
    heinsen::embed_position_vjp<Real>(
        call.on, in, {arrays.template input<3>("grad_y"), arrays.template input<2>("grad_s_n")},
        {arrays.template output<3>("grad_x", in.x.shape), arrays.template output<2>("grad_W_H", in.W_H.shape),
         arrays.template output<1>("grad_b_H", in.b_H.shape), arrays.template output<2>("grad_W_R", in.W_R.shape),
         arrays.template output<1>("grad_b_R", in.b_R.shape), arrays.template output<2>("grad_s0", in.s0.shape)});
  });
}

}  // namespace
}  // namespace heinsen

std::vector<routine> heinsen_routines() {
  using namespace heinsen;
  constexpr bool in_16_bits = true;
  return {{"heinsen/scan", evaluate_scan<log_decay>, in_16_bits},
          {"heinsen/scan:vjp", evaluate_scan_vjp<log_decay>, in_16_bits},
          {"heinsen/scan:jvp", evaluate_scan_jvp<log_decay>},
          {"heinsen/gated_scan", evaluate_scan<gate_logit>, in_16_bits},
          {"heinsen/gated_scan:vjp", evaluate_scan_vjp<gate_logit>, in_16_bits},
          {"heinsen/gated_scan:jvp", evaluate_scan_jvp<gate_logit>},
          {"heinsen/embed_position", evaluate_embed},
          {"heinsen/embed_position:vjp", evaluate_embed_vjp}};
}

}  // namespace assay::optimized
