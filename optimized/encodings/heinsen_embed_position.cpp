// The linear maps around the gated scan. Every element of a product is written by one task, in an order of
// summation that depends on the sizes alone.
#include <algorithm>
#include <utility>
#include <vector>

#include "optimized/dispatch.hpp"
#include "optimized/encodings/heinsen.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::heinsen {
namespace {

constexpr std::size_t rows_of_a_task = 16;

template <class Real>
void multiply(const product_block<Real>& whole) {
  const auto kernel = kernels_for<Real>(active_kernels()).product;
  const std::size_t tasks = (whole.rows + rows_of_a_task - 1) / rows_of_a_task;
  for_each_task(tasks, [&](std::size_t i) {
    product_block<Real> part = whole;
    const std::size_t first = i * rows_of_a_task;
    part.rows = std::min(rows_of_a_task, whole.rows - first);
    part.a += first * whole.a_row;
    part.out += first * whole.columns;
    if (part.addend != nullptr) part.addend += first * whole.columns;
    kernel(part);
  });
}

// [rows, columns] to [columns, rows]
template <class Real>
std::vector<Real> transposed(std::span<const Real> matrix, std::size_t rows, std::size_t columns) {
  std::vector<Real> result(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) result[j * rows + i] = matrix[i * columns + j];
  return result;
}

// left^T right, for the [tokens, rows] matrix left and the [tokens, columns] matrix right, summed over the
// tokens in their order; and the sum of left over the tokens.
template <class Real>
void weight_gradients(std::size_t tokens, std::span<const Real> left, std::size_t rows, std::span<const Real> right,
                      std::size_t columns, std::span<Real> weight, std::span<Real> bias) {
  multiply<Real>({rows, columns, tokens, left.data(), 1, rows, right.data(), nullptr, nullptr, weight.data()});
  const Real one = 1;
  multiply<Real>({1, rows, tokens, &one, 0, 0, left.data(), nullptr, nullptr, bias.data()});
}

template <class Real>
void check(const embed_shape& shape, const embed_inputs<Real>& in) {
  const auto [batch, tokens, e, d] = shape;
  ASSAY_EXPECTS(in.x.size() == batch * tokens * e);
  ASSAY_EXPECTS(in.W_H.size() == 2 * d * e && in.b_H.size() == 2 * d);
  ASSAY_EXPECTS(in.W_R.size() == e * d && in.b_R.size() == e);
  ASSAY_EXPECTS(in.s0.empty() || in.s0.size() == batch * d);
}

// The gate logits and h in one array [B, n, 2d], as W_H has them.
template <class Real>
struct hidden {
  embed_shape shape;
  std::vector<Real> gate_and_h;
  std::vector<Real> s;

  [[nodiscard]] scan_inputs<Real> inputs(std::span<const Real> s0) const {
    return {half(gate_and_h.data(), 0), half(gate_and_h.data(), 1), rows(s0)};
  }
  /// The gates, or the h, of an array like gate_and_h.
  template <class T>
  [[nodiscard]] view<T, 3> half(T* array, std::size_t which) const {
    view<T, 3> v = dense<T, 3>(array, {shape.batch, shape.tokens, 2 * shape.features});
    v.shape[2] = shape.features;
    if (v.size() > 0) v.data += which * shape.features;
    return v;
  }
  template <class T>
  [[nodiscard]] view<T, 3> states(T* array) const {
    return dense<T, 3>(array, {shape.batch, shape.tokens, shape.features});
  }
  template <class T>
  [[nodiscard]] view<T, 2> rows(std::span<T> array) const {
    return dense<T, 2>(array.data(), {shape.batch, shape.features});
  }
};

template <class Real>
hidden<Real> states(const embed_shape& shape, const embed_inputs<Real>& in, std::span<Real> s_n) {
  const auto [batch, tokens, e, d] = shape;
  hidden<Real> result{shape, std::vector<Real>(batch * tokens * 2 * d), std::vector<Real>(batch * tokens * d)};
  const std::vector<Real> weight = transposed(in.W_H, 2 * d, e);
  multiply<Real>(
      {batch * tokens, 2 * d, e, in.x.data(), e, 1, weight.data(), in.b_H.data(), nullptr, result.gate_and_h.data()});
  gated_scan<Real>(process_execution(), result.inputs(in.s0), {result.states(result.s.data()), result.rows(s_n)});
  return result;
}

}  // namespace

template <class Real>
void embed_position(const embed_shape& shape, const embed_inputs<Real>& in, const embed_outputs<Real>& out) {
  const auto [batch, tokens, e, d] = shape;
  check(shape, in);
  ASSAY_EXPECTS(out.y.size() == batch * tokens * e && out.s_n.size() == batch * d);

  const hidden<Real> mid = states(shape, in, out.s_n);
  const std::vector<Real> weight = transposed(in.W_R, e, d);
  multiply<Real>({batch * tokens, e, d, mid.s.data(), d, 1, weight.data(), in.b_R.data(), in.x.data(), out.y.data()});
}

template <class Real>
void embed_position_vjp(const embed_shape& shape, const embed_inputs<Real>& in,
                        const embed_cotangents<Real>& cotangents, const embed_gradients<Real>& out) {
  const auto [batch, n, e, d] = shape;
  const std::size_t tokens = batch * n;
  check(shape, in);
  ASSAY_EXPECTS(cotangents.grad_y.size() == tokens * e);
  ASSAY_EXPECTS(cotangents.grad_s_n.empty() || cotangents.grad_s_n.size() == batch * d);
  ASSAY_EXPECTS(out.grad_x.size() == tokens * e && out.grad_s0.size() == batch * d);
  ASSAY_EXPECTS(out.grad_W_H.size() == 2 * d * e && out.grad_b_H.size() == 2 * d);
  ASSAY_EXPECTS(out.grad_W_R.size() == e * d && out.grad_b_R.size() == e);

  std::vector<Real> s_n(batch * d);
  const hidden<Real> mid = states<Real>(shape, in, s_n);

  // y = W_R s + b_R + x
  const std::span<const Real> grad_y = cotangents.grad_y;
  std::vector<Real> grad_s(tokens * d);
  multiply<Real>({tokens, d, e, grad_y.data(), e, 1, in.W_R.data(), nullptr, nullptr, grad_s.data()});
  weight_gradients<Real>(tokens, grad_y, e, mid.s, d, out.grad_W_R, out.grad_b_R);

  std::vector<Real> grad_gate_and_h(tokens * 2 * d);
  const std::span<Real> grad_mid(grad_gate_and_h);
  gated_scan_vjp<Real>(
      process_execution(), mid.inputs(in.s0),
      {mid.states(mid.s.data()), mid.states(std::as_const(grad_s).data()), mid.rows(cotangents.grad_s_n)},
      {mid.half(grad_mid.data(), 0), mid.half(grad_mid.data(), 1), mid.rows(out.grad_s0)});

  // (g, h) = W_H x + b_H
  multiply<Real>(
      {tokens, e, 2 * d, grad_mid.data(), 2 * d, 1, in.W_H.data(), nullptr, grad_y.data(), out.grad_x.data()});
  weight_gradients<Real>(tokens, grad_mid, 2 * d, in.x, e, out.grad_W_H, out.grad_b_H);
}

#define ASSAY_INSTANTIATE(Real)                                                                                  \
  template void embed_position(const embed_shape&, const embed_inputs<Real>&, const embed_outputs<Real>&);       \
  template void embed_position_vjp(const embed_shape&, const embed_inputs<Real>&, const embed_cotangents<Real>&, \
                                   const embed_gradients<Real>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::heinsen
