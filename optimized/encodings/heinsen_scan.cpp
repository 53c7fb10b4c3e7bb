// Splits a scan over sequences and blocks of features. The blocks have a fixed size, and features do not
// depend on each other, so the split changes no bit.
#include <algorithm>
#include <vector>

#include "optimized/dispatch.hpp"
#include "optimized/encodings/heinsen.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::heinsen {
namespace {

// Bytes of a row that one task walks down: a page, so that the hardware prefetchers see long runs. Half of it
// made a scan of (8, 1000, 1024) floats 1.4 times slower (AMD Zen 3).
constexpr std::size_t block_bytes = 4096;

scan_shape with_strides(scan_shape shape) {
  if (shape.input_stride == 0) shape.input_stride = shape.features;
  if (shape.state_stride == 0) shape.state_stride = shape.features;
  ASSAY_EXPECTS(shape.input_stride >= shape.features && shape.state_stride >= shape.features);
  return shape;
}

// The array holds the last row whole; what a stride skips after it may be missing.
template <class Real>
bool holds_rows(std::span<Real> array, const scan_shape& shape, std::size_t stride) {
  const std::size_t rows = shape.batch * shape.tokens;
  return array.size() >= (rows == 0 ? 0 : (rows - 1) * stride + shape.features);
}

template <class Real>
bool holds_states(std::span<Real> array, const scan_shape& shape) {
  return array.size() == shape.batch * shape.features;
}

// The array, or zeros in `storage` where it is absent.
template <class Real>
const Real* or_zeros(std::span<const Real> array, const scan_shape& shape, std::vector<Real>& storage) {
  if (!array.empty()) return array.data();
  storage.assign(shape.batch * shape.features, Real(0));
  return storage.data();
}

// One task: some features of one sequence.
struct piece {
  std::size_t first_input, first_state, first_row, features;
};

template <class Real, class Task>
void for_each_piece(const scan_shape& shape, Task task) {
  constexpr std::size_t width = block_bytes / sizeof(Real);
  const std::size_t blocks = (shape.features + width - 1) / width;
  for_each_task(shape.batch * blocks, [&](std::size_t i) {
    const std::size_t sequence = i / blocks;
    const std::size_t feature = i % blocks * width;
    task(piece{sequence * shape.tokens * shape.input_stride + feature,
               sequence * shape.tokens * shape.state_stride + feature, sequence * shape.features + feature,
               std::min(width, shape.features - feature)});
  });
}

template <class Real>
using scan_kernel = void (*)(const scan_block<Real>&) noexcept;
template <class Real>
using scan_vjp_kernel = void (*)(const scan_vjp_block<Real>&) noexcept;

template <class Real>
void run(scan_kernel<Real> kernel, const scan_shape& given, const scan_inputs<Real>& in,
         const scan_outputs<Real>& out) {
  const scan_shape shape = with_strides(given);
  ASSAY_EXPECTS(holds_rows(in.decay, shape, shape.input_stride) && holds_rows(in.h, shape, shape.input_stride));
  ASSAY_EXPECTS(in.s0.empty() || holds_states(in.s0, shape));
  ASSAY_EXPECTS(holds_rows(out.s, shape, shape.state_stride) && holds_states(out.s_n, shape));

  std::vector<Real> zeros;
  const Real* s0 = or_zeros(in.s0, shape, zeros);
  for_each_piece<Real>(shape, [&](const piece& p) {
    kernel({shape.tokens, p.features, shape.input_stride, shape.state_stride, in.decay.data() + p.first_input,
            in.h.data() + p.first_input, s0 + p.first_row, out.s.data() + p.first_state, out.s_n.data() + p.first_row});
  });
}

template <class Real>
void run_vjp(scan_vjp_kernel<Real> kernel, const scan_shape& given, const scan_inputs<Real>& in,
             const scan_cotangents<Real>& cotangents, const scan_gradients<Real>& out) {
  const scan_shape shape = with_strides(given);
  ASSAY_EXPECTS(holds_rows(in.decay, shape, shape.input_stride) && holds_rows(in.h, shape, shape.input_stride));
  ASSAY_EXPECTS(in.s0.empty() || holds_states(in.s0, shape));
  ASSAY_EXPECTS(holds_rows(cotangents.s, shape, shape.state_stride));
  ASSAY_EXPECTS(holds_rows(cotangents.grad_s, shape, shape.state_stride));
  ASSAY_EXPECTS(cotangents.grad_s_n.empty() || holds_states(cotangents.grad_s_n, shape));
  ASSAY_EXPECTS(holds_rows(out.grad_decay, shape, shape.input_stride));
  ASSAY_EXPECTS(holds_rows(out.grad_h, shape, shape.input_stride) && holds_states(out.grad_s0, shape));

  std::vector<Real> zero_state, zero_cotangent;
  const Real* s0 = or_zeros(in.s0, shape, zero_state);
  const Real* grad_s_n = or_zeros(cotangents.grad_s_n, shape, zero_cotangent);
  for_each_piece<Real>(shape, [&](const piece& p) {
    kernel({shape.tokens, p.features, shape.input_stride, shape.state_stride, in.decay.data() + p.first_input,
            in.h.data() + p.first_input, s0 + p.first_row, cotangents.s.data() + p.first_state,
            cotangents.grad_s.data() + p.first_state, grad_s_n + p.first_row, out.grad_decay.data() + p.first_input,
            out.grad_h.data() + p.first_input, out.grad_s0.data() + p.first_row});
  });
}

}  // namespace

template <class Real>
void scan(const scan_shape& shape, const scan_inputs<Real>& in, const scan_outputs<Real>& out) {
  run(kernels_for<Real>(active_kernels()).scan, shape, in, out);
}

template <class Real>
void gated_scan(const scan_shape& shape, const scan_inputs<Real>& in, const scan_outputs<Real>& out) {
  run(kernels_for<Real>(active_kernels()).gated_scan, shape, in, out);
}

template <class Real>
void scan_vjp(const scan_shape& shape, const scan_inputs<Real>& in, const scan_cotangents<Real>& cotangents,
              const scan_gradients<Real>& out) {
  run_vjp(kernels_for<Real>(active_kernels()).scan_vjp, shape, in, cotangents, out);
}

template <class Real>
void gated_scan_vjp(const scan_shape& shape, const scan_inputs<Real>& in, const scan_cotangents<Real>& cotangents,
                    const scan_gradients<Real>& out) {
  run_vjp(kernels_for<Real>(active_kernels()).gated_scan_vjp, shape, in, cotangents, out);
}

#define ASSAY_INSTANTIATE(Real)                                                                           \
  template void scan(const scan_shape&, const scan_inputs<Real>&, const scan_outputs<Real>&);             \
  template void gated_scan(const scan_shape&, const scan_inputs<Real>&, const scan_outputs<Real>&);       \
  template void scan_vjp(const scan_shape&, const scan_inputs<Real>&, const scan_cotangents<Real>&,       \
                         const scan_gradients<Real>&);                                                    \
  template void gated_scan_vjp(const scan_shape&, const scan_inputs<Real>&, const scan_cotangents<Real>&, \
                               const scan_gradients<Real>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::heinsen
