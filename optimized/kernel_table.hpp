// The exports of one instruction set: a table of kernels for f32 and for f64.
//
// A kernel computes one independent part of an operation on one thread, in the arithmetic of its type (round to
// nearest; fused operations only where they are written). It never allocates, never throws and never fails. All kernels
// except those of scans give the same bits on every instruction set. Code that is compiled for instruction sets that
// the processor may lack reads this header. The header therefore uses nothing from the standard library except its
// integers.
#pragma once

#include <cstddef>

#include "optimized/storage.hpp"

namespace assay::optimized {

/// An array of rows. Each token has one row.
template <class T>
struct row_array {
  T* first;
  std::ptrdiff_t step;  ///< number of elements from one row to the next
};

/// While a walk of rows reads an address, it asks for memory this far ahead, unless `rows_ahead` gives another
/// distance.
inline constexpr std::ptrdiff_t bytes_ahead = 6144;

/// Some features of one sequence. The rows may be stored in 16 bits.
template <class Real, class Stored = Real>
struct row_block {
  std::size_t tokens, features;
  row_array<const Stored> decay;  ///< log p, or the gate logits
  row_array<const Stored> h;
  row_array<Stored> s;
  Real *high, *low;  ///< the state, [features] each: before the rows, and after the call the state after them
  bool past_caches;  ///< s is stored around the caches; never with 16 bits
  /// The number of rows between the row that is read and the row that is asked for. 0 means bytes_ahead, in whatever
  /// row that lies.
  std::ptrdiff_t rows_ahead = 0;
};

/// Consecutive tokens of one sequence without gaps, in chunks of equal length that are walked side by side. There are
/// `groups` groups of chunks. The chunks of a group share registers; their number is lanes / gcd(lanes, features),
/// which is also the number of tokens of a tile. Elements from `available` on do not exist, and the recurrence does not
/// change its state there. States and summaries are rows of [chunks, features].
template <class Real>
struct chunk_block {
  std::size_t features, groups;
  std::size_t length;     ///< number of tokens of a chunk, a multiple of the number of tokens of a tile
  std::size_t available;  ///< number of elements that exist, counted from the first element of the first chunk
  bool whole;             ///< all elements exist
  const Real *decay, *h;
  Real* s;
  Real *high, *low;  ///< the states before the chunks, and after the call the states after them
  Real* scratch;     ///< 4 rows, and 3 rows for each token of a tile; it begins where a register begins
  bool past_caches;  ///< s is stored around the caches
  /// Number of elements from the first of these chunks to the first of the next chunks; 0: there are no next ones.
  std::size_t next;
};

/// The effect of the tokens [first, last) of each chunk on a state. `first` and `last` are multiples of the number of
/// tokens of a tile.
template <class Real>
struct chunk_summary {
  std::size_t first, last;
  Real *sum, *sum_low;  ///< the sum of log p
  Real *high, *low;     ///< the state after the tokens if it was -inf before them
  Real* largest_h;  ///< the largest h of the tokens before `first`, unless null; +inf if one of their elements is not
                    ///< finite, if a log p is positive, or if the chunk ends early
};

/// Maps of a state, s -> log(e^(sum + s) + e^state). Each map becomes the composition of the earlier map and itself.
/// The sum of two sums is rounded, and so is the state.
struct map_block {
  std::size_t count;
  const double *earlier_sum, *earlier_state;  ///< may lie in the same arrays, further to the front
  double *sum, *state;
};

/// The adjoint of a part of the rows. `before` is the row of states before the first row.
template <class Real>
struct adjoint_block {
  std::size_t tokens, features;
  row_array<const Real> decay, h, s, grad_s;  ///< s: the states of the forward pass
  row_array<Real> grad_decay, grad_h;
  const Real* before;
  /// [features] each: the gradient that later rows give to the last state, and after the call the gradient of the state
  /// before these rows.
  Real *high, *low;
  bool past_caches;               ///< the gradients are stored around the caches
  std::ptrdiff_t rows_ahead = 0;  ///< number of rows back from the row that is read; otherwise as in row_block
};

/// The derivative of a part of the rows along a direction. `before` is the row of states before the first row.
template <class Real>
struct tangent_block {
  std::size_t tokens, features;
  row_array<const Real> decay, h, s;  ///< s: the states of the forward pass
  row_array<const Real> tangent_decay, tangent_h;
  row_array<Real> tangent_s;
  const Real* before;
  /// [features] each: the derivative of the state before the rows, and after the call the one after them.
  Real *high, *low;
  bool past_caches;               ///< tangent_s is stored around the caches
  std::ptrdiff_t rows_ahead = 0;  ///< as in row_block
};

/// The adjoint of few features in f32. The rows have no gaps between them.
struct narrow_block {
  static constexpr int most_features = 15;
  std::size_t tokens, features;  ///< at least 1
  const float *decay, *h, *s, *grad_s;
  float *grad_decay, *grad_h;
  const float* before;  ///< the row of states before the first row of s
  /// [features]: the gradient that later tokens give to the last state, and after the call the gradient of the state
  /// before these tokens.
  double* carry;
  float* scratch;    ///< 4 * (tokens * features + 32) numbers, which must be kept from one call to the next
  bool past_caches;  ///< the gradients are stored around the caches
  /// The kernel handles infinite and NaN elements; without it, such elements make the carry infinite or NaN.
  bool careful;
};

/// One position times many frequencies in quarter turns. Each frequency is a sum of numbers from three arrays
/// (quarter_turns in angles.hpp).
struct rotation_block {
  std::size_t count;
  double position;
  const double *high, *middle, *low;
  const double (*steps)[4];  ///< the table; only split_rotations uses it, and writes the low parts too
  double *cosine, *sine, *cosine_low, *sine_low;
};

/// Turns the heads of a token, [heads, features], by the token's rotations. Pair t is (x_t, x_{t + pairs}) if
/// half_split is true, else (x_2t, x_{2t+1}); 2 pairs <= features. Only f64 reads the low parts.
template <class Real>
struct turn_block {
  std::size_t heads, features, pairs;
  bool half_split;
  const double *cosine, *sine, *cosine_low, *sine_low;
  const Real* x;
  Real* y;
};

/// The logits and weights of all keys of a query.
template <class Real>
struct softmax_row {
  std::size_t keys;
  const double* logits;
  Real* weights;  ///< written
};

/// The adjoint of softmax_row with respect to the logits.
template <class Real>
struct softmax_adjoint_row {
  std::size_t keys;
  const double* bias;  ///< -inf for masked keys; their gradients are 0
  const Real* weights;
  Real* along;          ///< the products of the cotangent and the values; the call replaces them with grad_logits
  double* grad_logits;  ///< written
};

template <class Real>
struct kernels {
  std::size_t lanes;  ///< number of lanes of a register
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
  /// The elementary functions alone, y[i] = f(x[i]). Tests measure their accuracy.
  void (*exp)(const Real* x, Real* y, std::size_t count) noexcept;    ///< x <= 0
  void (*log1p)(const Real* x, Real* y, std::size_t count) noexcept;  ///< 0 <= x <= 1
};

/// The kernels are called in this order for a block of tokens. go_back takes the last block first. If its carry is not
/// finite, weigh and go_back are called again, carefully and with the previous carry.
struct narrow_kernels {
  void (*weigh)(const narrow_block&) noexcept;
  void (*gated_weigh)(const narrow_block&) noexcept;
  void (*go_back)(const narrow_block&) noexcept;
  void (*finish)(const narrow_block&) noexcept;
  void (*gated_finish)(const narrow_block&) noexcept;
};

/// Cosines and sines. Arguments outside of their domain give NaN; the caller must look for it.
struct rotation_kernels {
  void (*rotations)(const rotation_block&) noexcept;
  void (*split_rotations)(const rotation_block&) noexcept;
};

/// Conversions of 16-bit arrays. Storage is bfloat16 or float16.
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
///
///     const std::size_t lanes = kernels_for<float>(*find_kernels("best")).lanes;
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

/// The conversions of a storage type.
///
///     storage_for<bfloat16>(*find_kernels("best")).widen(stored.data(), widened.data(), stored.size());
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
