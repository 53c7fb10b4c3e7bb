// Splits a scan over sequences, rows and blocks of features. The split changes no bit: every state is computed from the
// state before it by the same operations.
#include <algorithm>
#include <array>
#include <vector>

#include "optimized/encodings/heinsen.hpp"
#include "optimized/encodings/heinsen/chunks.hpp"
#include "optimized/encodings/heinsen/sequences.hpp"
#include "optimized/workspace.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::heinsen {
namespace {

template <class Real>
using row_kernel = void (*)(const row_block<Real>&) noexcept;

// The kernels of an instruction set that a scan needs.
template <class Real>
struct forward_kernels {
  row_kernel<Real> rows;
  chunk_kernels<Real> chunks;
};

// Copies the tokens [first, first + count) of a sequence to or from an array without gaps.
template <class From, class To>
void copy_tokens(const From& from, std::size_t sequence, std::size_t first, std::size_t count, To to) {
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < from.shape[2]; ++j) to(i * from.shape[2] + j, *from.at(sequence, first + i, j));
}

// Rows whose features lie apart are copied together, some tokens at a time.
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
    const row_block<Real> rows{count, d,    {decay.data(), step}, {h.data(), step}, {s.data(), step}, b.high,
                               b.low, false};
    in_chunks ? scan_in_chunks(kernels.chunks, threads, rows) : kernels.rows(rows);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < d; ++j) *out.s.at(sequence, first + i, j) = s[i * d + j];
  }
}

template <class Real>
void run(const forward_kernels<Real>& kernels, const execution& on, const scan_inputs<Real>& in,
         const scan_outputs<Real>& out) {
  const scan_sizes size = sizes_of(out.s);
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
    const row_block<Real> b = block_of(in.decay, in.h, out.s, sequence, states.data(), past_caches);
    copy_row(in.s0, sequence, size.features, b.high);
    copy_row(in.s0_low, sequence, size.features, b.low);
    const auto step = static_cast<std::ptrdiff_t>(size.features);
    const bool without_gaps = b.decay.step == step && b.h.step == step && b.s.step == step;
    const bool in_chunks = prefers_chunks<Real>(size.tokens, size.features, kernels.chunks.lanes);
    if (!unit_rows || (in_chunks && !without_gaps))
      walk_gathered(kernels, threads, in, out, sequence, b);
    else if (in_chunks)
      scan_in_chunks(kernels.chunks, threads, b);
    else
      for_each_piece<Real>(threads, size.features,
                           [&](const piece_of_rows& piece) { kernels.rows(piece_of(b, piece)); });
    copy_words(b.high, b.low, out.s_n, out.s_n_low, sequence, size.features);
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

#define ASSAY_INSTANTIATE(Real)                                                              \
  template void scan(const execution&, const scan_inputs<Real>&, const scan_outputs<Real>&); \
  template void gated_scan(const execution&, const scan_inputs<Real>&, const scan_outputs<Real>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::heinsen
