// One sequence of many features on several threads: a wavefront over blocks of rows and groups of features.
#pragma once

#include <algorithm>
#include <cstddef>

#include "optimized/encodings/heinsen_sequences.hpp"
#include "optimized/turns.hpp"

namespace assay::optimized::heinsen {

/// Rows that a thread walks before it hands their features on to the next: where there are few rows, fewer, so that
/// every thread has several blocks of them.
inline constexpr std::size_t least_rows_of_wave = 16, most_rows_of_wave = 128;

/// Whether a row has groups enough for a wavefront.
template <class Real>
bool prefers_wavefront(int threads, std::size_t features) {
  return threads > 1 && features * sizeof(Real) >= 2 * least_bytes_of_piece;
}

/// A part of the rows of a sequence: rows from `row` on, and of each the features from `feature` on; and how many rows
/// ahead its walk asks for memory. What follows in a row is read by another thread: asking for it made two threads
/// slower than one (0.6 to 0.8 times as fast; 1.3 to 1.7 times with this, on two cores).
struct part_of_rows {
  std::size_t row, rows, feature, features;
  std::ptrdiff_t rows_ahead;
};

/// The directions in which rows are walked, and groups in a row.
enum class order_of_rows { forward, backward };

/// Calls walk(part) for all parts: blocks of rows, and groups of features in each. A part comes after that of the same
/// features in the block before it. Each thread takes the next block that nobody has
/// taken, and its groups as soon as they are done in the block before. Blocks are taken in order, and who has taken one
/// is running, so that there is always one that need not wait, however few threads there are.
template <class Real, class Walk>
void wavefront(int threads, order_of_rows order, std::size_t rows, std::size_t features, Walk walk) {
  const std::size_t width = shared_width<Real>(threads, features);
  const std::size_t height =
      std::clamp(rows / (8 * static_cast<std::size_t>(threads)), least_rows_of_wave, most_rows_of_wave);
  const std::size_t blocks = (rows + height - 1) / height, groups = (features + width - 1) / width;
  const std::ptrdiff_t rows_ahead = rows_ahead_of(width * sizeof(Real));
  const auto place = [order](std::size_t k, std::size_t count) {
    return order == order_of_rows::forward ? k : count - 1 - k;
  };
  turns in_order(groups);
  in_order.share(threads, blocks, [&](std::size_t) {
    return [&](std::size_t block) {
      for (std::size_t group = 0; group < groups; ++group) {
        const std::size_t row = place(block, blocks) * height, feature = place(group, groups) * width;
        in_order.take(group, block, [&] {
          walk(part_of_rows{row, std::min(height, rows - row), feature, std::min(width, features - feature),
                            rows_ahead});
        });
      }
    };
  });
}

}  // namespace assay::optimized::heinsen
