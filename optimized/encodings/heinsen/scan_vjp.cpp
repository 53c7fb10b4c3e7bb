// Splits the adjoint of a scan over sequences, rows and blocks of features, which changes no bit: what is handed from
// row to row stays two numbers.
#include <array>
#include <cstdint>
#include <type_traits>

#include "optimized/encodings/heinsen.hpp"
#include "optimized/encodings/heinsen/narrow.hpp"
#include "optimized/encodings/heinsen/recompute.hpp"
#include "optimized/encodings/heinsen/sequences.hpp"
#include "optimized/workspace.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::heinsen {
namespace {

template <class Real>
struct adjoint_kernels {
  void (*rows)(const adjoint_block<Real>&) noexcept;
  narrow_adjoint narrow;  // used for f32
};

template <class Real>
adjoint_block<Real> piece_of(adjoint_block<Real> b, const piece_of_rows& p) {
  for (row_array<const Real>* given : {&b.decay, &b.h, &b.s, &b.grad_s}) *given = rows_from(*given, 0, p.feature);
  for (row_array<Real>* gradient : {&b.grad_decay, &b.grad_h}) *gradient = rows_from(*gradient, 0, p.feature);
  b.before += p.feature, b.high += p.feature, b.low += p.feature;
  b.features = p.features, b.rows_ahead = p.rows_ahead;
  return b;
}

// With `in_place`, rows of gradients begin where registers begin.
template <class Real>
void go_back(const adjoint_kernels<Real>& kernels, int threads, adjoint_block<Real> b, bool in_place) {
  if constexpr (std::is_same_v<Real, float>)
    if (prefers_narrow(b.tokens, b.features)) return narrow_vjp(kernels.narrow, threads, b);
  b.past_caches = b.past_caches && in_place;
  for_each_piece<Real>(threads, b.features, [&](const piece_of_rows& piece) { kernels.rows(piece_of(b, piece)); });
}

template <class Real>
void run_vjp(const adjoint_kernels<Real>& kernels, const execution& on, const scan_inputs<Real>& in,
             const scan_cotangents<Real>& cotangents, const scan_gradients<Real>& out) {
  const scan_sizes size = sizes_of(out.grad_h);
  const auto& shape = out.grad_h.shape;
  const std::array<std::size_t, 2> state_shape{size.batch, size.features};
  ASSAY_EXPECTS(has_shape(in.decay, shape) && has_shape(in.h, shape) && has_shape(cotangents.s, shape));
  ASSAY_EXPECTS(has_shape(cotangents.grad_s, shape) && has_shape(out.grad_decay, shape) &&
                has_shape(out.grad_h, shape));
  ASSAY_EXPECTS(in.s0.absent() || has_shape(in.s0, state_shape));
  ASSAY_EXPECTS(cotangents.grad_s_n.absent() || has_shape(cotangents.grad_s_n, state_shape));
  ASSAY_EXPECTS(cotangents.grad_s_n_low.absent() || has_shape(cotangents.grad_s_n_low, state_shape));
  ASSAY_EXPECTS(has_shape(out.grad_s0, state_shape) && on.threads >= 1);
  ASSAY_EXPECTS(out.grad_s0_low.absent() || has_shape(out.grad_s0_low, state_shape));
  ASSAY_EXPECTS(in.decay.has_unit_rows() && in.h.has_unit_rows() && cotangents.s.has_unit_rows() &&
                cotangents.grad_s.has_unit_rows() && out.grad_decay.has_unit_rows() && out.grad_h.has_unit_rows());
  // Whole registers are stored around the caches, so rows must begin where registers begin.
  const auto in_place = [](const view<Real, 3>& v) {
    constexpr std::size_t line = 64;
    const auto multiple = [](std::ptrdiff_t step) { return static_cast<std::size_t>(step) * sizeof(Real) % line == 0; };
    return reinterpret_cast<std::uintptr_t>(v.data) % line == 0 && multiple(v.stride[0]) && multiple(v.stride[1]);
  };
  const bool exceeds = exceeds_caches(6 * sizeof(Real) * out.grad_h.size());

  scoped_array<Real> states(on.workspace, 3 * size.batch * size.features);
  for_each_sequence(on, size, [&](std::size_t sequence, int threads) {
    Real* high = states.data() + 3 * sequence * size.features;
    Real *low = high + size.features, *before = low + size.features;
    copy_row(cotangents.grad_s_n, sequence, size.features, high);
    copy_row(cotangents.grad_s_n_low, sequence, size.features, low);
    copy_row(in.s0, sequence, size.features, before);
    const adjoint_block<Real> all = {size.tokens,
                                     size.features,
                                     rows_of(in.decay, sequence),
                                     rows_of(in.h, sequence),
                                     rows_of(cotangents.s, sequence),
                                     rows_of(cotangents.grad_s, sequence),
                                     rows_of(out.grad_decay, sequence),
                                     rows_of(out.grad_h, sequence),
                                     before,
                                     high,
                                     low,
                                     exceeds};
    go_back(kernels, threads, all, in_place(out.grad_decay) && in_place(out.grad_h));
    copy_words(high, low, out.grad_s0, out.grad_s0_low, sequence, size.features);
  });
}

}  // namespace

template <class Real>
void scan_vjp(const execution& on, const scan_inputs<Real>& in, const scan_cotangents<Real>& cotangents,
              const scan_gradients<Real>& out) {
  if (cotangents.s.absent()) return recompute(on, in, cotangents, out, scan<Real>, scan_vjp<Real>);
  const narrow_kernels& narrow = on.kernels->narrow;
  run_vjp<Real>({kernels_for<Real>(*on.kernels).scan_rows_vjp, {narrow.weigh, narrow.go_back, narrow.finish}}, on, in,
                cotangents, out);
}

template <class Real>
void gated_scan_vjp(const execution& on, const scan_inputs<Real>& in, const scan_cotangents<Real>& cotangents,
                    const scan_gradients<Real>& out) {
  if (cotangents.s.absent()) return recompute(on, in, cotangents, out, gated_scan<Real>, gated_scan_vjp<Real>);
  const narrow_kernels& narrow = on.kernels->narrow;
  run_vjp<Real>(
      {kernels_for<Real>(*on.kernels).gated_scan_rows_vjp, {narrow.gated_weigh, narrow.go_back, narrow.gated_finish}},
      on, in, cotangents, out);
}

#define ASSAY_INSTANTIATE(Real)                                                                          \
  template void scan_vjp(const execution&, const scan_inputs<Real>&, const scan_cotangents<Real>&,       \
                         const scan_gradients<Real>&);                                                   \
  template void gated_scan_vjp(const execution&, const scan_inputs<Real>&, const scan_cotangents<Real>&, \
                               const scan_gradients<Real>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::heinsen
