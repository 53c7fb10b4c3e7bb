// The fast implementation. State here the order of its sums and why its errors stay small. This one adds in the
// order of the tokens. It computes f32 in f64 and rounds once; it computes f64 as it is written. It uses no formula of
// reference/: the two check one another.
//
// To use threads, call for_each_task (optimized/dispatch.hpp): any number of threads then gives the same bits.
#include "optimized/buffers.hpp"
#include "optimized/operations.hpp"

namespace assay::optimized {
namespace {

/// The inputs of a call, row-major.
struct problem {
  explicit problem(const arguments& call)
      : shape(call.inputs.at("x").shape()),
        x(values_of<double>(call.inputs, "x")),
        a(values_of<double>(call.inputs, "a")),
        b(values_of<double>(call.inputs, "b")),
        position(values_of<double>(call.inputs, "position")),
        sign(core::setting<std::string>(call.settings, "sign") == "minus" ? -1.0 : 1.0) {}
  [[nodiscard]] std::size_t feature(std::size_t i) const { return i % shape[2]; }
  [[nodiscard]] double step(std::size_t i) const { return sign * position[i / shape[2] % shape[1]]; }
  core::shape shape;
  std::vector<double> x, a, b, position;
  double sign;
};

template <class Real>
core::tensor rounded_to(const core::shape& shape, const std::vector<double>& values) {
  return tensor_of(shape, std::vector<Real>(values.begin(), values.end()));
}

core::tensors evaluate_scale(const arguments& call) {
  const problem p(call);
  std::vector<double> y(p.x.size());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = p.a[p.feature(i)] * p.x[i] + p.b[p.feature(i)] * p.step(i);
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    return {{"y", rounded_to<Real>(p.shape, y)}};
  });
}

core::tensors evaluate_scale_vjp(const arguments& call) {
  const problem p(call);
  const std::vector<double> grad_y = values_of<double>(call.inputs, "grad_y");
  std::vector<double> grad_x(p.x.size()), grad_a(p.a.size()), grad_b(p.b.size());
  for (std::size_t i = 0; i < grad_y.size(); ++i) {
    grad_x[i] = p.a[p.feature(i)] * grad_y[i];
    grad_a[p.feature(i)] += p.x[i] * grad_y[i];
    grad_b[p.feature(i)] += p.step(i) * grad_y[i];
  }
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    return {{"grad_x", rounded_to<Real>(p.shape, grad_x)},
            {"grad_a", rounded_to<Real>({grad_a.size()}, grad_a)},
            {"grad_b", rounded_to<Real>({grad_b.size()}, grad_b)}};
  });
}

}  // namespace

/// Every operation and every derivative, by its name.
std::vector<routine> skeleton_routines() {
  return {{"skeleton/scale", evaluate_scale}, {"skeleton/scale:vjp", evaluate_scale_vjp}};
}

}  // namespace assay::optimized
