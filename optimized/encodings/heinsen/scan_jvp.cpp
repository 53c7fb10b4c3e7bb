// Splits a scan and its derivative along a direction over sequences, groups of features and slices of time. The split
// changes no bit: the scan and the derivative walk every feature alone, from the state before.
#include <algorithm>
#include <array>

#include "optimized/encodings/heinsen.hpp"
#include "optimized/encodings/heinsen/chunks.hpp"
#include "optimized/encodings/heinsen/sequences.hpp"
#include "optimized/workspace.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::heinsen {
namespace {

template <class Real>
struct kernels_along {
  void (*scan)(const row_block<Real>&) noexcept;
  void (*tangent)(const tangent_block<Real>&) noexcept;
};

// One sequence. Both blocks have the same tokens and features.
template <class Real>
struct dual_block {
  row_block<Real> states;
  tangent_block<Real> tangents;
};

// The size of a slice of time. The states of a slice are still in the second cache when their derivatives are computed.
constexpr std::size_t bytes_of_slice = 65536;

template <class Real>
dual_block<Real> part_of(dual_block<Real> b, std::size_t first, std::size_t tokens, std::size_t feature,
                         std::size_t features) {
  auto& [scan, along] = b;
  for (row_array<const Real>* given :
       {&scan.decay, &scan.h, &along.decay, &along.h, &along.tangent_decay, &along.tangent_h})
    *given = rows_from(*given, first, feature);
  along.before = first == 0 ? along.before + feature : rows_from(along.s, first - 1, feature).first;
  along.s = rows_from(along.s, first, feature);
  for (row_array<Real>* given : {&scan.s, &along.tangent_s}) *given = rows_from(*given, first, feature);
  for (Real** word : {&scan.high, &scan.low, &along.high, &along.low}) *word += feature;
  scan.tokens = along.tokens = tokens, scan.features = along.features = features;
  return b;
}

template <class Real>
void walk(const kernels_along<Real>& kernels, const dual_block<Real>& b) {
  const std::size_t rows = std::max<std::size_t>(1, bytes_of_slice / sizeof(Real) / b.states.features);
  for (std::size_t first = 0; first < b.states.tokens; first += rows) {
    const auto slice = part_of(b, first, std::min(rows, b.states.tokens - first), 0, b.states.features);
    kernels.scan(slice.states);
    kernels.tangent(slice.tangents);
  }
}

template <class Real>
void check(const execution& on, const scan_inputs<Real>& in, const scan_direction<Real>& direction,
           const scan_outputs<Real>& states, const scan_tangents<Real>& out) {
  const std::array<std::size_t, 3>& shape = out.tangent_s.shape;
  const std::array<std::size_t, 2> state_shape{shape[0], shape[2]};
  const view<const Real, 3> written[] = {states.s, out.tangent_s};
  for (const auto& v : {in.decay, in.h, direction.tangent_decay, direction.tangent_h, written[0], written[1]})
    ASSAY_EXPECTS(has_shape(v, shape) && v.has_unit_rows());
  const view<const Real, 2> low[] = {states.s_n_low, out.tangent_s_n_low};
  for (const auto& v : {in.s0, in.s0_low, direction.tangent_s0, direction.tangent_s0_low, low[0], low[1]})
    ASSAY_EXPECTS(v.absent() || has_shape(v, state_shape));
  ASSAY_EXPECTS(has_shape(states.s_n, state_shape) && has_shape(out.tangent_s_n, state_shape) && on.threads >= 1);
}

// `forward` scans few features; lanes then hold different times.
template <class Real, class Forward>
void run_jvp(const kernels_along<Real>& kernels, const execution& on, const scan_inputs<Real>& in,
             const scan_direction<Real>& direction, const scan_outputs<Real>& states, const scan_tangents<Real>& out,
             Forward forward) {
  check(on, in, direction, states, out);
  const scan_sizes size = sizes_of(out.tangent_s);
  const std::size_t d = size.features;
  const bool in_chunks = prefers_chunks<Real>(size.tokens, d, kernels_for<Real>(*on.kernels).lanes);
  if (in_chunks) forward(on, in, states);
  const bool past_caches = exceeds_caches(6 * sizeof(Real) * out.tangent_s.size());

  scoped_array<Real> words(on.workspace, 5 * size.batch * d);
  for_each_sequence(on, size, [&](std::size_t sequence, int threads) {
    Real* const word = words.data() + 5 * sequence * d;
    copy_row(in.s0, sequence, d, word);
    copy_row(in.s0_low, sequence, d, word + d);
    copy_row(direction.tangent_s0, sequence, d, word + 2 * d);
    copy_row(direction.tangent_s0_low, sequence, d, word + 3 * d);
    copy_row(in.s0, sequence, d, word + 4 * d);
    const row_array<const Real> decay = rows_of(in.decay, sequence), h = rows_of(in.h, sequence);
    const row_array<Real> s = rows_of(states.s, sequence);
    const dual_block<Real> b{{size.tokens, d, decay, h, s, word, word + d, false},
                             {size.tokens,
                              d,
                              decay,
                              h,
                              {s.first, s.step},
                              rows_of(direction.tangent_decay, sequence),
                              rows_of(direction.tangent_h, sequence),
                              rows_of(out.tangent_s, sequence),
                              word + 4 * d,
                              word + 2 * d,
                              word + 3 * d,
                              past_caches}};
    for_each_piece<Real>(threads, d, [&](const piece_of_rows& piece) {
      dual_block<Real> features = part_of(b, 0, size.tokens, piece.feature, piece.features);
      features.states.rows_ahead = features.tangents.rows_ahead = piece.rows_ahead;
      in_chunks ? kernels.tangent(features.tangents) : walk(kernels, features);
    });
    if (!in_chunks) copy_words(b.states.high, b.states.low, states.s_n, states.s_n_low, sequence, d);
    copy_words(b.tangents.high, b.tangents.low, out.tangent_s_n, out.tangent_s_n_low, sequence, d);
  });
}

}  // namespace

template <class Real>
void scan_jvp(const execution& on, const scan_inputs<Real>& in, const scan_direction<Real>& direction,
              const scan_outputs<Real>& states, const scan_tangents<Real>& out) {
  const kernels<Real>& k = kernels_for<Real>(*on.kernels);
  run_jvp<Real>({k.scan_rows, k.scan_rows_jvp}, on, in, direction, states, out, scan<Real>);
}

template <class Real>
void gated_scan_jvp(const execution& on, const scan_inputs<Real>& in, const scan_direction<Real>& direction,
                    const scan_outputs<Real>& states, const scan_tangents<Real>& out) {
  const kernels<Real>& k = kernels_for<Real>(*on.kernels);
  run_jvp<Real>({k.gated_scan_rows, k.gated_scan_rows_jvp}, on, in, direction, states, out, gated_scan<Real>);
}

#define ASSAY_INSTANTIATE(Real)                                                                         \
  template void scan_jvp(const execution&, const scan_inputs<Real>&, const scan_direction<Real>&,       \
                         const scan_outputs<Real>&, const scan_tangents<Real>&);                        \
  template void gated_scan_jvp(const execution&, const scan_inputs<Real>&, const scan_direction<Real>&, \
                               const scan_outputs<Real>&, const scan_tangents<Real>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::heinsen
