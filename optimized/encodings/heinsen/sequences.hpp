// Code that scans and their adjoints share: the sequences of a call and their rows.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "optimized/dispatch.hpp"
#include "optimized/kernel_table.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::heinsen {

/// The size of the features of a walk. Their state stays in the first cache.
inline constexpr std::size_t bytes_of_walk = 16384;

/// Whether arrays of this total size are better written around the caches.
inline bool exceeds_caches(std::size_t bytes) {
  static const long second_level = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > static_cast<std::size_t>(second_level > 0 ? second_level : 1 << 20);
}

/// Some features of all rows of a sequence, and how many rows ahead a walk asks for memory (kernel_table.hpp).
struct piece_of_rows {
  std::size_t feature, features;
  std::ptrdiff_t rows_ahead;
};

/// If several threads share a sequence, each thread has at least this many bytes of a row for itself.
inline constexpr std::size_t least_bytes_of_piece = 1024;

/// Calls walk(piece) for pieces that make up the rows. One thread walks the pieces one after the other. If there are
/// several threads and the rows are long, each thread has its own part of the rows, and it asks ahead for later rows of
/// that part. The memory that follows in a row belongs to another thread. Asking for that memory makes two threads
/// slower than one (0.56 to 0.8 times as fast, on two cores).
template <class Real, class Walk>
void for_each_piece(int threads, std::size_t features, Walk walk) {
  constexpr std::size_t line = 64 / sizeof(Real), most = bytes_of_walk / sizeof(arithmetic_of<Real>);
  constexpr std::size_t least = least_bytes_of_piece / sizeof(Real);
  if (threads == 1 || features < 2 * least) {
    for (std::size_t j = 0; j < features; j += most) walk(piece_of_rows{j, std::min(most, features - j), 0});
    return;
  }
  const std::size_t features_of_thread = (features / static_cast<std::size_t>(threads) + line - 1) / line * line;
  const std::size_t width = std::clamp(features_of_thread, least, most);
  const std::ptrdiff_t ahead = (bytes_ahead - 1) / static_cast<std::ptrdiff_t>(width * sizeof(Real)) + 1;
  for_each_task(threads, (features + width - 1) / width, [&](std::size_t k) {
    walk(piece_of_rows{k * width, std::min(width, features - k * width), ahead});
  });
}

struct scan_sizes {
  std::size_t batch, tokens, features;
};

template <class T>
scan_sizes sizes_of(const view<T, 3>& v) {
  return {v.shape[0], v.shape[1], v.shape[2]};
}

/// The rows of a sequence.
template <class T>
row_array<T> rows_of(const view<T, 3>& v, std::size_t sequence) {
  return {v.at(sequence, std::size_t{0}, std::size_t{0}), v.stride[1]};
}

/// The rows, starting at a token and a feature.
template <class T>
row_array<T> rows_from(const row_array<T>& r, std::size_t token, std::size_t feature) {
  return {r.first + static_cast<std::ptrdiff_t>(token) * r.step + static_cast<std::ptrdiff_t>(feature), r.step};
}

/// All rows of a sequence. `words` holds the states of all sequences, 2 B d.
template <class Real, class Stored>
row_block<Real, Stored> block_of(const view<const Stored, 3>& decay, const view<const Stored, 3>& h,
                                 const view<Stored, 3>& s, std::size_t sequence, Real* words, bool past_caches) {
  const scan_sizes size = sizes_of(s);
  Real* const high = words + 2 * sequence * size.features;
  return {size.tokens,          size.features, rows_of(decay, sequence), rows_of(h, sequence),
          rows_of(s, sequence), high,          high + size.features,     past_caches};
}

/// The rows of a sequence, with only the features of the piece.
template <class Real, class Stored>
row_block<Real, Stored> piece_of(row_block<Real, Stored> b, const piece_of_rows& p) {
  b.decay = rows_from(b.decay, 0, p.feature), b.h = rows_from(b.h, 0, p.feature), b.s = rows_from(b.s, 0, p.feature);
  b.high += p.feature, b.low += p.feature;
  b.features = p.features, b.rows_ahead = p.rows_ahead;
  return b;
}

/// Copies a row of features of a [B, d] array, or zeros if the array is absent.
template <class Real>
void copy_row(const view<const Real, 2>& from, std::size_t sequence, std::size_t features, Real* to) {
  for (std::size_t j = 0; j < features; ++j) to[j] = from.absent() ? Real(0) : *from.at(sequence, j);
}
template <class Real>
void copy_row(const Real* from, const view<Real, 2>& to, std::size_t sequence, std::size_t features) {
  for (std::size_t j = 0; j < features; ++j) *to.at(sequence, j) = from[j];
}

/// Copies the words of a state in the same way. `low` may be absent. If the high word is not finite, the low word is
/// ignored.
template <class Real>
void copy_words(const Real* high, const Real* low, const view<Real, 2>& to, const view<Real, 2>& to_low,
                std::size_t sequence, std::size_t features) {
  copy_row(high, to, sequence, features);
  if (to_low.absent()) return;
  for (std::size_t j = 0; j < features; ++j) *to_low.at(sequence, j) = std::isfinite(high[j]) ? low[j] : Real(0);
}

/// Whether a scan runs on more than one thread. A scan with few elements does not, because waking a thread takes
/// longer.
inline bool is_shared(const execution& on, const scan_sizes& size) {
  constexpr std::size_t least_shared_work = 1 << 15;
  return on.threads > 1 && size.batch * size.tokens * size.features >= least_shared_work;
}

/// Calls on_threads(sequence, threads) for each sequence. If the number of sequences is a multiple of the number of
/// threads, or at least 4 times as large, the threads share the sequences. Otherwise the sequences follow one another,
/// each on all threads.
template <class Function>
void for_each_sequence(const execution& on, const scan_sizes& size, Function on_threads) {
  const auto threads = static_cast<std::size_t>(on.threads);
  const bool shared = is_shared(on, size);
  if (shared && (size.batch % threads == 0 || size.batch >= 4 * threads))
    for_each_task(on.threads, size.batch, [&](std::size_t sequence) { on_threads(sequence, 1); });
  else
    for (std::size_t sequence = 0; sequence < size.batch; ++sequence) on_threads(sequence, shared ? on.threads : 1);
}

}  // namespace assay::optimized::heinsen
