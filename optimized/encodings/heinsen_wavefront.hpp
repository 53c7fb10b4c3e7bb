// One sequence of many features on several threads: a wavefront over blocks of rows and groups of features.
#pragma once

#include <algorithm>
#include <cstddef>

#include "optimized/encodings/heinsen_sequences.hpp"
#include "optimized/turns.hpp"

namespace assay::optimized::heinsen {

/// Rows that a thread walks before it hands their features on to the next, and bytes of a row that are handed on at
/// once, at least: where there are as many, each thread has one group of features, since long pieces of rows are read
/// faster.
inline constexpr std::size_t rows_of_wave = 16;
inline constexpr std::size_t least_bytes_of_wave = 1024;

/// Whether a row has groups enough for a wavefront.
template <class Real>
bool prefers_wavefront(int threads, std::size_t features) {
  return threads > 1 && features * sizeof(Real) >= 2 * least_bytes_of_wave;
}

/// The directions in which rows are walked, and groups in a row.
enum class order_of_rows { forward, backward };

/// Calls walk(row, rows, feature, features) for all parts: blocks of rows, and groups of features in each. A part
/// comes after that of the same features in the block before it. Each thread takes the next block that nobody has
/// taken, and its groups as soon as they are done in the block before. Blocks are taken in order, and who has taken one
/// is running, so that there is always one that need not wait, however few threads there are.
template <class Real, class Walk>
void wavefront(int threads, order_of_rows order, std::size_t rows, std::size_t features, Walk walk) {
  constexpr std::size_t line = 64 / sizeof(Real);
  const std::size_t of_thread = (features / static_cast<std::size_t>(threads) + line - 1) / line * line;
  const std::size_t width = std::clamp(of_thread, least_bytes_of_wave / sizeof(Real), bytes_of_walk / sizeof(Real));
  const std::size_t blocks = (rows + rows_of_wave - 1) / rows_of_wave, groups = (features + width - 1) / width;
  const auto place = [order](std::size_t k, std::size_t count) {
    return order == order_of_rows::forward ? k : count - 1 - k;
  };
  turns in_order(groups);
  in_order.share(threads, blocks, [&](std::size_t) {
    return [&](std::size_t block) {
      for (std::size_t group = 0; group < groups; ++group) {
        const std::size_t row = place(block, blocks) * rows_of_wave, feature = place(group, groups) * width;
        in_order.take(group, block, [&] {
          walk(row, std::min(rows_of_wave, rows - row), feature, std::min(width, features - feature));
        });
      }
    };
  });
}

}  // namespace assay::optimized::heinsen
