// What one instruction set exports: a table of kernels for f32 and for f64.
//
// A kernel computes one independent piece of an operation, on one thread, in the arithmetic of its type (round
// to nearest; fused operations only where they are written). It never allocates, never throws and never fails.
// All kernels but those of scans give the same bits on every instruction set. This header is read by code compiled for
// instruction sets that the processor may lack, so it uses nothing of the standard library but its integers.
#pragma once

#include <cstddef>

#include "optimized/storage.hpp"

namespace assay::optimized {

/// An array by rows, one a token.
template <class T>
struct row_array {
  T* first;
  std::ptrdiff_t step;  ///< elements from one row to the next
};

/// How far from what a walk of rows reads lies what it asks for at the same time, where nothing else is said.
inline constexpr std::ptrdiff_t bytes_ahead = 6144;

/// Some features of one sequence. Rows may be stored in 16 bits.
template <class Real, class Stored = Real>
struct row_block {
  std::size_t tokens, features;
  row_array<const Stored> decay;  ///< log p, or the gate logits
  row_array<const Stored> h;
  row_array<Stored> s;
  Real *high, *low;  ///< the state, [features] each: before the rows, then after them
  bool past_caches;  ///< s is stored around the caches; not in 16 bits
  /// Rows from what is read to what is asked for at the same time; 0: bytes_ahead, whichever row that leads to.
  std::ptrdiff_t rows_ahead = 0;
};

/// Consecutive tokens of one sequence without gaps, in chunks of equal length that are walked side by side, in `groups`
/// of as many as share a register: lanes / gcd(lanes, features), which is also the number of tokens of a tile. Elements
/// from `available` on do not exist; the recurrence leaves its state as it is there. States and summaries are rows of
/// [chunks, features].
template <class Real>
struct chunk_block {
  std::size_t features, groups;
  std::size_t length;     ///< tokens of a chunk, a multiple of those of a tile
  std::size_t available;  ///< elements, counted from the first of the first chunk
  bool whole;             ///< they all exist
  const Real *decay, *h;
  Real* s;
  Real *high, *low;  ///< the states: before the chunks, then after them
  Real* scratch;     ///< 4 rows, and 3 for each token of a tile, where a register begins
  bool past_caches;  ///< s is stored around the caches
  std::size_t next;  ///< elements from the first of these chunks to the first of those that come next; 0: none do
};

/// What becomes of a state along the tokens [first, last) of each chunk, multiples of those of a tile.
template <class Real>
struct chunk_summary {
  std::size_t first, last;
  Real *sum, *sum_low;  ///< of log p
  Real *high, *low;     ///< the state after them if it was -inf before
  Real* largest_h;  ///< over the tokens before, unless null; +inf where one of their elements is not finite, some log p
                    ///< is positive, or a chunk ends early
};

/// Maps of a state, s -> log(e^(sum + s) + e^state): each becomes what the earlier one and it make together. The sum of
/// two sums is rounded, and so is the state.
struct map_block {
  std::size_t count;
  const double *earlier_sum, *earlier_state;  ///< may be of the same arrays, further to the front
  double *sum, *state;
};

/// The adjoint of a piece. `before` is the row of states before the first.
template <class Real>
struct adjoint_block {
  std::size_t tokens, features;
  row_array<const Real> decay, h, s, grad_s;  ///< s: the states of the forward pass
  row_array<Real> grad_decay, grad_h;
  const Real* before;
  Real *high, *low;  ///< [features] each: what the rows after these give to the last state, then what these give back
  bool past_caches;  ///< the gradients are stored around the caches
  std::ptrdiff_t rows_ahead = 0;  ///< back from what is read, otherwise as in row_block
};

/// The derivative of a piece along a direction. `before` is the row of states before the first.
template <class Real>
struct tangent_block {
  std::size_t tokens, features;
  row_array<const Real> decay, h, s;  ///< s: the states of the forward pass
  row_array<const Real> tangent_decay, tangent_h;
  row_array<Real> tangent_s;
  const Real* before;
  Real *high, *low;               ///< [features] each: the derivative of the state, before the rows, then after them
  bool past_caches;               ///< tangent_s is stored around the caches
  std::ptrdiff_t rows_ahead = 0;  ///< as in row_block
};

/// The adjoint of few features in f32, without gaps between rows.
struct narrow_block {
  static constexpr int most_features = 15;
  std::size_t tokens, features;  ///< at least 1
  const float *decay, *h, *s, *grad_s;
  float *grad_decay, *grad_h;
  const float* before;  ///< the row of states before that of s
  double* carry;        ///< [features], what the tokens after these give to the last state, then what these give back
  float* scratch;       ///< 4 * (tokens * features + 32) numbers, kept from one call to the next
  bool past_caches;     ///< the gradients are stored around the caches
  bool careful;         ///< for elements that are infinite or NaN; else they make the carry so
};

/// One position times many frequencies in quarter turns, each a sum of three arrays (quarter_turns in angles.hpp).
struct rotation_block {
  std::size_t count;
  double position;
  const double *high, *middle, *low;
  const double (*steps)[4];  ///< table of split_rotations alone, which writes the low parts too
  double *cosine, *sine, *cosine_low, *sine_low;
};

/// The heads of a token, [heads, features], turned by its rotations. Pair t is (x_t, x_{t + pairs}) where half_split,
/// else (x_2t, x_{2t+1}); 2 pairs <= features. The low parts are read in f64 alone.
template <class Real>
struct turn_block {
  std::size_t heads, features, pairs;
  bool half_split;
  const double *cosine, *sine, *cosine_low, *sine_low;
  const Real* x;
  Real* y;
};

/// The keys of a query.
template <class Real>
struct softmax_row {
  std::size_t keys;
  const double* logits;
  Real* weights;  ///< written
};

/// The adjoint of its logits.
template <class Real>
struct softmax_adjoint_row {
  std::size_t keys;
  const double* bias;  ///< -inf for keys that are kept from the query, whose gradients are 0
  const Real* weights;
  Real* along;          ///< the products of the cotangent and the values, then grad_logits
  double* grad_logits;  ///< written
};

template <class Real>
struct kernels {
  std::size_t lanes;  ///< of a register
  void (*scan_rows)(const row_block<Real>&) noexcept;
  void (*gated_scan_rows)(const row_block<Real>&) noexcept;
  void (*summarize_chunks)(const chunk_block<Real>&, const chunk_summary<Real>&) noexcept;
  void (*gated_summarize_chunks)(const chunk_block<Real>&, const chunk_summary<Real>&) noexcept;
  void (*scan_chunks)(const chunk_block<Real>&) noexcept;
  void (*gated_scan_chunks)(const chunk_block<Real>&) noexcept;
  void (*scan_rows_vjp)(const adjoint_block<Real>&) noexcept;
  void (*gated_scan_rows_vjp)(const adjoint_block<Real>&) noexcept;
  void (*scan_rows_jvp)(const tangent_block<Real>&) noexcept;
  void (*gated_scan_rows_jvp)(const tangent_block<Real>&) noexcept;
  void (*turn)(const turn_block<Real>&) noexcept;
  void (*softmax)(const softmax_row<Real>&) noexcept;
  void (*softmax_vjp)(const softmax_adjoint_row<Real>&) noexcept;
  /// The elementary functions alone, y[i] = f(x[i]), so that their accuracy can be measured.
  void (*exp)(const Real* x, Real* y, std::size_t count) noexcept;    ///< x <= 0
  void (*log1p)(const Real* x, Real* y, std::size_t count) noexcept;  ///< 0 <= x <= 1
};

/// To be called one after the other for a block of tokens; go_back for the last block first. If it leaves a carry that
/// is not finite, weigh and go_back are to be called again, with the carry from before, carefully.
struct narrow_kernels {
  void (*weigh)(const narrow_block&) noexcept;
  void (*gated_weigh)(const narrow_block&) noexcept;
  void (*go_back)(const narrow_block&) noexcept;
  void (*finish)(const narrow_block&) noexcept;
  void (*gated_finish)(const narrow_block&) noexcept;
};

/// Cosines and sines. What lies outside of their domain becomes NaN, and is for the caller to find.
struct rotation_kernels {
  void (*rotations)(const rotation_block&) noexcept;
  void (*split_rotations)(const rotation_block&) noexcept;
};

/// Arrays stored in 16 bits: Storage is bfloat16 or float16.
template <class Storage>
struct storage_kernels {
  void (*widen)(const Storage* x, float* y, std::size_t count) noexcept;
  void (*round)(const float* x, Storage* y, std::size_t count) noexcept;
  void (*scan_rows)(const row_block<float, Storage>&) noexcept;
  void (*gated_scan_rows)(const row_block<float, Storage>&) noexcept;
};

struct kernel_table {
  kernels<float> f32;
  kernels<double> f64;
  rotation_kernels rotation;
  narrow_kernels narrow;
  void (*join_maps)(const map_block&) noexcept;
  storage_kernels<bfloat16> bf16;
  storage_kernels<float16> f16;
};

/// The kernels of a number type.
template <class Real>
const kernels<Real>& kernels_for(const kernel_table& table);
template <>
inline const kernels<float>& kernels_for(const kernel_table& table) {
  return table.f32;
}
template <>
inline const kernels<double>& kernels_for(const kernel_table& table) {
  return table.f64;
}

/// The conversions of a type of storage.
template <class Storage>
const storage_kernels<Storage>& storage_for(const kernel_table& table);
template <>
inline const storage_kernels<bfloat16>& storage_for(const kernel_table& table) {
  return table.bf16;
}
template <>
inline const storage_kernels<float16>& storage_for(const kernel_table& table) {
  return table.f16;
}

}  // namespace assay::optimized
