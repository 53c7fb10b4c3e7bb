// Tables of sines and cosines: a row for each position, columns for frequencies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "optimized/dispatch.hpp"
#include "optimized/rotations.hpp"

namespace assay::optimized {

/// Which columns hold the two functions of a pair.
struct column_places {
  bool interleaved, sine_first;
  std::size_t leading, trailing, width;  ///< columns of the first and of the second function, and all of them
  [[nodiscard]] std::size_t first(std::size_t pair) const { return interleaved ? 2 * pair : pair; }
  [[nodiscard]] std::size_t second(std::size_t pair) const { return interleaved ? 2 * pair + 1 : leading + pair; }
};

inline constexpr std::size_t rows_of_a_task = 256;

/// visit(block, first, last) for all blocks of `rows` rows, on all threads.
template <class Visit>
void for_each_block(std::size_t rows, Visit visit) {
  for_each_task((rows + rows_of_a_task - 1) / rows_of_a_task, [&](std::size_t block) {
    visit(block, block * rows_of_a_task, std::min(rows, (block + 1) * rows_of_a_task));
  });
}

/// Fills one row. Columns of no pair are left alone.
template <class Real>
void write_row(const column_places& places, const rotations& found, Real* row) {
  const double* first = places.sine_first ? found.sine.data() : found.cosine.data();
  const double* second = places.sine_first ? found.cosine.data() : found.sine.data();
  if (places.interleaved) {
    for (std::size_t pair = 0; pair < places.trailing; ++pair) {
      row[2 * pair] = static_cast<Real>(first[pair]);
      row[2 * pair + 1] = static_cast<Real>(second[pair]);
    }
    if (places.leading > places.trailing) row[2 * places.trailing] = static_cast<Real>(first[places.trailing]);
  } else {
    std::transform(first, first + places.leading, row, [](double x) { return static_cast<Real>(x); });
    std::transform(second, second + places.trailing, row + places.leading,
                   [](double x) { return static_cast<Real>(x); });
  }
}

/// table[i], of `width` columns, holds the functions of positions[i] times the frequencies. Blocks of rows share the
/// work; all results are independent.
template <class Real>
void write_table(const column_places& places, const prepared_frequencies& theta, const std::vector<double>& positions,
                 Real* table) {
  for_each_block(positions.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
    rotations found(theta.size(), false);
    for (std::size_t i = begin; i < end; ++i) {
      theta.find(positions[i], found);
      write_row(places, found, table + i * places.width);
    }
  });
}

}  // namespace assay::optimized
