// Dot-product attention with an additive bias: one task for each head of each row.
#include "optimized/attention.hpp"

#include "optimized/buffers.hpp"
#include "optimized/dispatch.hpp"
#include "optimized/operations.hpp"

namespace assay::optimized {
namespace {

// The inputs as arrays, head by head.
struct attention_arrays {
  core::shape q_shape, k_shape, v_shape;
  std::vector<double> q, k, v, bias;
  double scale;

  explicit attention_arrays(const arguments& call)
      : q_shape(call.inputs.at("q").shape()),
        k_shape(call.inputs.at("k").shape()),
        v_shape(call.inputs.at("v").shape()),
        q(values_of<double>(call.inputs, "q")),
        k(values_of<double>(call.inputs, "k")),
        v(values_of<double>(call.inputs, "v")),
        bias(values_of<double>(call.inputs, "bias")),
        scale(logit_scale(core::setting<std::string>(call.settings, "scale") == "inverse_sqrt", q_shape[3])) {}

  [[nodiscard]] std::size_t heads() const { return q_shape[0] * q_shape[1]; }
  [[nodiscard]] std::size_t pairs() const { return q_shape[2] * k_shape[2]; }
  [[nodiscard]] attention_head head(std::size_t index) const {
    const std::size_t n = q_shape[2], m = k_shape[2], d = q_shape[3], e = v_shape[3];
    return {n,
            m,
            d,
            e,
            scale,
            q.data() + index * n * d,
            k.data() + index * m * d,
            v.data() + index * m * e,
            bias.data() + index % q_shape[1] * n * m};
  }
};

core::tensors evaluate_output(const arguments& call) {
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    const attention_arrays in(call);
    const core::shape shape{in.q_shape[0], in.q_shape[1], in.q_shape[2], in.v_shape[3]};
    std::vector<double> out(core::element_count(shape));
    for_each_task(in.heads(), [&](std::size_t h) { attend(in.head(h), out.data() + h * shape[2] * shape[3]); });
    return {{"o", tensor_of(shape, std::vector<Real>(out.begin(), out.end()))}};
  });
}

core::tensors evaluate_output_vjp(const arguments& call) {
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    const attention_arrays in(call);
    const std::vector<double> cotangents = values_of<double>(call.inputs, "grad_o");
    std::vector<double> q(in.q.size()), k(in.k.size()), v(in.v.size()), logits(in.heads() * in.pairs());
    for_each_task(in.heads(), [&](std::size_t h) {
      const attention_gradients g = attend_vjp(in.head(h), cotangents.data() + h * in.q_shape[2] * in.v_shape[3]);
      g.store_head(h, q, k, v, logits);
    });
    // The batch shares the bias.
    std::vector<double> bias(in.bias.size());
    for (std::size_t i = 0; i < logits.size(); ++i) bias[i % bias.size()] += logits[i];
    const auto gradient = [&](const char* name, const std::vector<double>& x) {
      return tensor_of(call.inputs.at(name).shape(), std::vector<Real>(x.begin(), x.end()));
    };
    return {{"grad_q", gradient("q", q)},
            {"grad_k", gradient("k", k)},
            {"grad_v", gradient("v", v)},
            {"grad_bias", gradient("bias", bias)}};
  });
}

}  // namespace

std::vector<routine> attention_routines() {
  return {{"attention/output", evaluate_output}, {"attention/output:vjp", evaluate_output_vjp}};
}

}  // namespace assay::optimized
