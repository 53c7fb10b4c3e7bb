// The operations of the log-linear position encoding on tensors.
#include "optimized/encodings/heinsen.hpp"

#include "optimized/buffers.hpp"
#include "optimized/operations.hpp"

namespace assay::optimized {
namespace {

// How log p is given, and with it the names of the input and of the functions.
struct log_decay {
  static constexpr const char* input = "log_p";
  static constexpr auto forward = [](auto&&... arguments) { heinsen::scan(arguments...); };
  static constexpr auto vjp = [](auto&&... arguments) { heinsen::scan_vjp(arguments...); };
};

struct gate_logit {
  static constexpr const char* input = "g";
  static constexpr auto forward = [](auto&&... arguments) { heinsen::gated_scan(arguments...); };
  static constexpr auto vjp = [](auto&&... arguments) { heinsen::gated_scan_vjp(arguments...); };
};

// The inputs of a scan as arrays, and the states that they give.
template <class Decay, class Real>
struct evaluated_scan {
  core::shape inputs_shape, state_shape;
  std::vector<Real> decay, h, s0, s, s_n;

  explicit evaluated_scan(const core::tensors& in)
      : inputs_shape(in.at("h").shape()),
        state_shape(in.at("s0").shape()),
        decay(values_of<Real>(in, Decay::input)),
        h(values_of<Real>(in, "h")),
        s0(values_of<Real>(in, "s0")),
        s(h.size()),
        s_n(s0.size()) {
    Decay::forward(process_execution(), inputs(), heinsen::scan_outputs<Real>{elements(s), states(s_n)});
  }

  [[nodiscard]] heinsen::scan_inputs<Real> inputs() const { return {elements(decay), elements(h), states(s0)}; }

  template <class Array>
  [[nodiscard]] auto elements(Array& array) const {
    return dense<std::remove_reference_t<decltype(*array.data())>, 3>(
        array.data(), {inputs_shape[0], inputs_shape[1], inputs_shape[2]});
  }
  template <class Array>
  [[nodiscard]] auto states(Array& array) const {
    return dense<std::remove_reference_t<decltype(*array.data())>, 2>(array.data(), {state_shape[0], state_shape[1]});
  }
};

template <class Decay>
core::tensors evaluate_scan(const arguments& call) {
  const core::tensors& in = call.inputs;
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    const evaluated_scan<Decay, Real> scan(in);
    return {{"s", tensor_of(scan.inputs_shape, scan.s)}, {"s_n", tensor_of(scan.state_shape, scan.s_n)}};
  });
}

template <class Decay>
core::tensors evaluate_scan_vjp(const arguments& call) {
  const core::tensors& in = call.inputs;
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    const evaluated_scan<Decay, Real> scan(in);
    const auto grad_s = values_of<Real>(in, "grad_s"), grad_s_n = values_of<Real>(in, "grad_s_n");
    std::vector<Real> grad_decay(scan.h.size()), grad_h(scan.h.size()), grad_s0(scan.s0.size());
    Decay::vjp(process_execution(), scan.inputs(),
               heinsen::scan_cotangents<Real>{scan.elements(scan.s), scan.elements(grad_s), scan.states(grad_s_n)},
               heinsen::scan_gradients<Real>{scan.elements(grad_decay), scan.elements(grad_h), scan.states(grad_s0)});
    return {{std::string("grad_") + Decay::input, tensor_of(scan.inputs_shape, grad_decay)},
            {"grad_h", tensor_of(scan.inputs_shape, grad_h)},
            {"grad_s0", tensor_of(scan.state_shape, grad_s0)}};
  });
}

// An array of the shape of an input, as a view.
template <std::size_t Rank, class Array>
auto view_of(Array& array, const core::tensor& like) {
  std::array<std::size_t, Rank> shape;
  std::copy_n(like.shape().begin(), Rank, shape.begin());
  return dense<std::remove_reference_t<decltype(*array.data())>, Rank>(array.data(), shape);
}

// The inputs of embed_position as arrays.
template <class Real>
struct embed_arrays {
  const core::tensors& in;
  std::vector<Real> x, W_H, b_H, W_R, b_R, s0;

  explicit embed_arrays(const core::tensors& given)
      : in(given),
        x(values_of<Real>(in, "x")),
        W_H(values_of<Real>(in, "W_H")),
        b_H(values_of<Real>(in, "b_H")),
        W_R(values_of<Real>(in, "W_R")),
        b_R(values_of<Real>(in, "b_R")),
        s0(values_of<Real>(in, "s0")) {}

  [[nodiscard]] heinsen::embed_inputs<Real> inputs() const {
    return {view_of<3>(x, in.at("x")),     view_of<2>(W_H, in.at("W_H")), view_of<1>(b_H, in.at("b_H")),
            view_of<2>(W_R, in.at("W_R")), view_of<1>(b_R, in.at("b_R")), view_of<2>(s0, in.at("s0"))};
  }
};

core::tensors evaluate_embed(const arguments& call) {
  const core::tensors& in = call.inputs;
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    const embed_arrays<Real> arrays(in);
    std::vector<Real> y(arrays.x.size()), s_n(arrays.s0.size());
    heinsen::embed_position<Real>(process_execution(), arrays.inputs(),
                                  {view_of<3>(y, in.at("x")), view_of<2>(s_n, in.at("s0"))});
    return {{"y", tensor_of(in.at("x").shape(), y)}, {"s_n", tensor_of(in.at("s0").shape(), s_n)}};
  });
}

core::tensors evaluate_embed_vjp(const arguments& call) {
  const core::tensors& in = call.inputs;
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    const embed_arrays<Real> a(in);
    const auto grad_y = values_of<Real>(in, "grad_y"), grad_s_n = values_of<Real>(in, "grad_s_n");
    std::vector<Real> x(a.x.size()), W_H(a.W_H.size()), b_H(a.b_H.size()), W_R(a.W_R.size()), b_R(a.b_R.size()),
        s0(a.s0.size());
    heinsen::embed_position_vjp<Real>(
        process_execution(), a.inputs(), {view_of<3>(grad_y, in.at("x")), view_of<2>(grad_s_n, in.at("s0"))},
        {view_of<3>(x, in.at("x")), view_of<2>(W_H, in.at("W_H")), view_of<1>(b_H, in.at("b_H")),
         view_of<2>(W_R, in.at("W_R")), view_of<1>(b_R, in.at("b_R")), view_of<2>(s0, in.at("s0"))});
    core::tensors out;
    const auto add = [&](const char* name, const std::vector<Real>& gradient) {
      out["grad_" + std::string(name)] = tensor_of(in.at(name).shape(), gradient);
    };
    add("x", x), add("W_H", W_H), add("b_H", b_H), add("W_R", W_R), add("b_R", b_R), add("s0", s0);
    return out;
  });
}

}  // namespace

std::vector<routine> heinsen_routines() {
  return {{"heinsen/scan", evaluate_scan<log_decay>},        {"heinsen/scan:vjp", evaluate_scan_vjp<log_decay>},
          {"heinsen/gated_scan", evaluate_scan<gate_logit>}, {"heinsen/gated_scan:vjp", evaluate_scan_vjp<gate_logit>},
          {"heinsen/embed_position", evaluate_embed},        {"heinsen/embed_position:vjp", evaluate_embed_vjp}};
}

}  // namespace assay::optimized
