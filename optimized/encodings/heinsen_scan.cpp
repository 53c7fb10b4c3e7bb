// Splits a scan over sequences, rows and blocks of features. How it is split changes no bit: every state is computed
// from the one before it by the same operations.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "optimized/encodings/heinsen.hpp"
#include "optimized/encodings/heinsen_chunks.hpp"
#include "optimized/encodings/heinsen_narrow.hpp"
#include "optimized/turns.hpp"
#include "optimized/workspace.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::heinsen {
namespace {

template <class Real>
using row_kernel = void (*)(const row_block<Real>&) noexcept;
template <class Real>
using adjoint_kernel = void (*)(const adjoint_block<Real>&) noexcept;

// A scan with fewer elements than these runs on one thread: waking another takes longer.
constexpr std::size_t least_shared_work = 1 << 15;
// Rows that a thread walks before it hands their features on to the next, and bytes of a row that are handed on at
// once.
constexpr std::size_t rows_of_wave = 64;
constexpr std::size_t bytes_of_wave = 1024;
// Features of a walk: their state stays in the first cache.
constexpr std::size_t bytes_of_walk = 16384;

// Whether arrays of so many bytes together are better written around the caches.
bool exceeds_caches(std::size_t bytes) {
  static const long second_level = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > static_cast<std::size_t>(second_level > 0 ? second_level : 1 << 20);
}

struct sizes {
  std::size_t batch, tokens, features;
};

template <class T>
sizes sizes_of(const view<T, 3>& v) {
  return {v.shape[0], v.shape[1], v.shape[2]};
}

// A row of features of a [B, d] array, or the same value everywhere where it is absent.
template <class Real>
void copy_row(const view<const Real, 2>& from, std::size_t sequence, std::size_t features, Real* to) {
  for (std::size_t j = 0; j < features; ++j) to[j] = from.absent() ? Real(0) : *from.at(sequence, j);
}
template <class Real>
void copy_row(const Real* from, const view<Real, 2>& to, std::size_t sequence, std::size_t features) {
  for (std::size_t j = 0; j < features; ++j) *to.at(sequence, j) = from[j];
}
// The low word of what is not finite says nothing.
template <class Real>
void copy_low_row(const Real* high, const Real* low, const view<Real, 2>& to, std::size_t sequence,
                  std::size_t features) {
  for (std::size_t j = 0; j < features; ++j) *to.at(sequence, j) = std::isfinite(high[j]) ? low[j] : Real(0);
}

template <class Real>
row_block<Real> rows_of(const scan_inputs<Real>& in, const scan_outputs<Real>& out, std::size_t sequence, Real* state,
                        bool past_caches) {
  const auto [batch, tokens, features] = sizes_of(out.s);
  return {tokens,
          features,
          in.decay.at(sequence, 0, 0),
          in.h.at(sequence, 0, 0),
          out.s.at(sequence, 0, 0),
          in.decay.stride[1],
          in.h.stride[1],
          out.s.stride[1],
          state,
          state + features,
          past_caches};
}

// The rows [first, first + tokens) and the features [feature, feature + features) of a block.
template <class Real>
row_block<Real> part_of(row_block<Real> b, std::size_t first, std::size_t tokens, std::size_t feature,
                        std::size_t features) {
  const auto skip = [&](std::ptrdiff_t step) {
    return static_cast<std::ptrdiff_t>(first) * step + static_cast<std::ptrdiff_t>(feature);
  };
  b.decay += skip(b.decay_step), b.h += skip(b.h_step), b.s += skip(b.s_step);
  b.high += feature, b.low += feature;
  b.tokens = tokens, b.features = features;
  return b;
}

template <class Real>
void walk(row_kernel<Real> kernel, const row_block<Real>& b) {
  constexpr std::size_t width = bytes_of_walk / sizeof(Real);
  for (std::size_t feature = 0; feature < b.features; feature += width)
    kernel(part_of(b, 0, b.tokens, feature, std::min(width, b.features - feature)));
}

// One sequence on several threads. Each takes the next rows that nobody has taken and walks them, group of features
// after group, as soon as the group is done in the rows before. Rows are taken in order, and who has taken some is
// running, so that there is always one that need not wait, however few threads there are.
template <class Real>
void wavefront(row_kernel<Real> kernel, int threads, const row_block<Real>& b) {
  constexpr std::size_t width = bytes_of_wave / sizeof(Real);
  const std::size_t blocks = (b.tokens + rows_of_wave - 1) / rows_of_wave;
  const std::size_t groups = (b.features + width - 1) / width;
  turns order(groups);
  order.share(threads, blocks, [&](std::size_t) {
    return [&](std::size_t block) {
      for (std::size_t group = 0; group < groups; ++group) {
        const std::size_t first = block * rows_of_wave, feature = group * width;
        order.take(group, block, [&] {
          kernel(part_of(b, first, std::min(rows_of_wave, b.tokens - first), feature,
                         std::min(width, b.features - feature)));
        });
      }
    };
  });
}

// What a scan needs of an instruction set.
template <class Real>
struct forward_kernels {
  row_kernel<Real> rows;
  chunk_kernels<Real> chunks;
};

// The tokens [first, first + count) of a sequence, copied to or from an array without gaps.
template <class From, class To>
void copy_tokens(const From& from, std::size_t sequence, std::size_t first, std::size_t count, To to) {
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < from.shape[2]; ++j) to(i * from.shape[2] + j, *from.at(sequence, first + i, j));
}

// Rows whose features lie apart are brought together some tokens at a time.
template <class Real>
void walk_gathered(const forward_kernels<Real>& kernels, int threads, const scan_inputs<Real>& in,
                   const scan_outputs<Real>& out, std::size_t sequence, const row_block<Real>& b) {
  const bool in_chunks = prefers_chunks<Real>(b.tokens, b.features, kernels.chunks.lanes);
  const std::size_t d = b.features;
  const std::size_t tokens = in_chunks ? b.tokens : std::max<std::size_t>(1, bytes_of_walk / sizeof(Real) / d);
  std::vector<Real> decay(tokens * d), h(tokens * d), s(tokens * d);
  for (std::size_t first = 0; first < b.tokens; first += tokens) {
    const std::size_t count = std::min(tokens, b.tokens - first);
    copy_tokens(in.decay, sequence, first, count, [&](std::size_t k, Real x) { decay[k] = x; });
    copy_tokens(in.h, sequence, first, count, [&](std::size_t k, Real x) { h[k] = x; });
    const auto step = static_cast<std::ptrdiff_t>(d);
    const row_block<Real> rows{count, d, decay.data(), h.data(), s.data(), step, step, step, b.high, b.low, false};
    in_chunks ? scan_in_chunks(kernels.chunks, threads, rows) : kernels.rows(rows);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < d; ++j) *out.s.at(sequence, first + i, j) = s[i * d + j];
  }
}

// Calls on_thread(sequence, threads) for each sequence, with more threads than one where there are fewer sequences.
template <class Function>
void for_each_sequence(const execution& on, const sizes& size, Function on_threads) {
  const auto threads = static_cast<std::size_t>(on.threads);
  const bool shared = threads > 1 && size.batch * size.tokens * size.features >= least_shared_work;
  if (shared && (size.batch % threads == 0 || size.batch >= 4 * threads))
    for_each_task(on.threads, size.batch, [&](std::size_t sequence) { on_threads(sequence, 1); });
  else
    for (std::size_t sequence = 0; sequence < size.batch; ++sequence) on_threads(sequence, shared ? on.threads : 1);
}

template <class Real>
void run(const forward_kernels<Real>& kernels, const execution& on, const scan_inputs<Real>& in,
         const scan_outputs<Real>& out) {
  const sizes size = sizes_of(out.s);
  const std::array<std::size_t, 2> state_shape{size.batch, size.features};
  ASSAY_EXPECTS(has_shape(in.decay, out.s.shape) && has_shape(in.h, out.s.shape) && has_shape(out.s, out.s.shape));
  ASSAY_EXPECTS(has_shape(out.s_n, state_shape) && (out.s_n_low.absent() || has_shape(out.s_n_low, state_shape)));
  ASSAY_EXPECTS(in.s0.absent() || has_shape(in.s0, state_shape));
  ASSAY_EXPECTS(in.s0_low.absent() || has_shape(in.s0_low, state_shape));
  ASSAY_EXPECTS(on.threads >= 1);
  const bool unit_rows = in.decay.has_unit_rows() && in.h.has_unit_rows() && out.s.has_unit_rows();
  const bool past_caches = exceeds_caches(3 * sizeof(Real) * out.s.size());

  scoped_array<Real> states(on.workspace, 2 * size.batch * size.features);
  for_each_sequence(on, size, [&](std::size_t sequence, int threads) {
    const row_block<Real> b = rows_of(in, out, sequence, states.data() + 2 * sequence * size.features, past_caches);
    copy_row(in.s0, sequence, size.features, b.high);
    copy_row(in.s0_low, sequence, size.features, b.low);
    const auto step = static_cast<std::ptrdiff_t>(size.features);
    const bool without_gaps = b.decay_step == step && b.h_step == step && b.s_step == step;
    const bool in_chunks = prefers_chunks<Real>(size.tokens, size.features, kernels.chunks.lanes);
    if (!unit_rows || (in_chunks && !without_gaps))
      walk_gathered(kernels, threads, in, out, sequence, b);
    else if (in_chunks)
      scan_in_chunks(kernels.chunks, threads, b);
    else if (threads > 1 && size.features * sizeof(Real) >= 2 * bytes_of_wave)
      wavefront(kernels.rows, threads, b);
    else
      walk(kernels.rows, b);
    copy_row(b.high, out.s_n, sequence, size.features);
    if (!out.s_n_low.absent()) copy_low_row(b.high, b.low, out.s_n_low, sequence, size.features);
  });
}

template <class Real>
struct adjoint_kernels {
  adjoint_kernel<Real> rows;
  narrow_adjoint narrow;  // of f32
};

// `in_place`: rows of gradients begin where registers do.
template <class Real>
void go_back(const adjoint_kernels<Real>& kernels, int threads, const adjoint_block<Real>& b, bool in_place) {
  if constexpr (std::is_same_v<Real, float>)
    if (prefers_narrow(b.tokens, b.features)) return narrow_vjp(kernels.narrow, threads, b);
  constexpr std::size_t width = bytes_of_walk / sizeof(Real);
  for (std::size_t j = 0; j < b.features; j += width) {
    adjoint_block<Real> part = b;
    part.features = std::min(width, b.features - j);
    part.decay += j, part.h += j, part.s += j, part.grad_s += j, part.grad_decay += j, part.grad_h += j;
    part.before += j, part.high += j, part.low += j;
    part.past_caches = b.past_caches && in_place;
    kernels.rows(part);
  }
}

template <class Real>
void run_vjp(const adjoint_kernels<Real>& kernels, const execution& on, const scan_inputs<Real>& in,
             const scan_cotangents<Real>& cotangents, const scan_gradients<Real>& out) {
  const sizes size = sizes_of(out.grad_h);
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
  // Whole registers are stored around the caches, and so rows must begin where registers do.
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
                                     in.decay.at(sequence, 0, 0),
                                     in.h.at(sequence, 0, 0),
                                     cotangents.s.at(sequence, 0, 0),
                                     cotangents.grad_s.at(sequence, 0, 0),
                                     out.grad_decay.at(sequence, 0, 0),
                                     out.grad_h.at(sequence, 0, 0),
                                     in.decay.stride[1],
                                     in.h.stride[1],
                                     cotangents.s.stride[1],
                                     cotangents.grad_s.stride[1],
                                     out.grad_decay.stride[1],
                                     out.grad_h.stride[1],
                                     before,
                                     high,
                                     low,
                                     exceeds};
    go_back(kernels, threads, all, in_place(out.grad_decay) && in_place(out.grad_h));
    copy_row(high, out.grad_s0, sequence, size.features);
    if (!out.grad_s0_low.absent()) copy_low_row(high, low, out.grad_s0_low, sequence, size.features);
  });
}

}  // namespace

template <class Real>
void scan(const execution& on, const scan_inputs<Real>& in, const scan_outputs<Real>& out) {
  const kernels<Real>& k = kernels_for<Real>(*on.kernels);
  run<Real>({k.scan_rows, {k.lanes, k.summarize_chunks, k.scan_chunks, on.kernels->join_maps}}, on, in, out);
}

template <class Real>
void gated_scan(const execution& on, const scan_inputs<Real>& in, const scan_outputs<Real>& out) {
  const kernels<Real>& k = kernels_for<Real>(*on.kernels);
  run<Real>({k.gated_scan_rows, {k.lanes, k.gated_summarize_chunks, k.gated_scan_chunks, on.kernels->join_maps}}, on,
            in, out);
}

template <class Real>
void scan_vjp(const execution& on, const scan_inputs<Real>& in, const scan_cotangents<Real>& cotangents,
              const scan_gradients<Real>& out) {
  const narrow_kernels& narrow = on.kernels->narrow;
  run_vjp<Real>({kernels_for<Real>(*on.kernels).scan_rows_vjp, {narrow.weigh, narrow.go_back, narrow.finish}}, on, in,
                cotangents, out);
}

template <class Real>
void gated_scan_vjp(const execution& on, const scan_inputs<Real>& in, const scan_cotangents<Real>& cotangents,
                    const scan_gradients<Real>& out) {
  const narrow_kernels& narrow = on.kernels->narrow;
  run_vjp<Real>(
      {kernels_for<Real>(*on.kernels).gated_scan_rows_vjp, {narrow.gated_weigh, narrow.go_back, narrow.gated_finish}},
      on, in, cotangents, out);
}

#define ASSAY_INSTANTIATE(Real)                                                                          \
  template void scan(const execution&, const scan_inputs<Real>&, const scan_outputs<Real>&);             \
  template void gated_scan(const execution&, const scan_inputs<Real>&, const scan_outputs<Real>&);       \
  template void scan_vjp(const execution&, const scan_inputs<Real>&, const scan_cotangents<Real>&,       \
                         const scan_gradients<Real>&);                                                   \
  template void gated_scan_vjp(const execution&, const scan_inputs<Real>&, const scan_cotangents<Real>&, \
                               const scan_gradients<Real>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::heinsen
