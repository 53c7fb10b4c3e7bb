// Tables of sines and cosines. A table has one row for each position and columns for the frequencies.
#pragma once

#include <algorithm>
#include <cstddef>

#include "optimized/dispatch.hpp"
#include "optimized/rotations.hpp"
#include "optimized/views.hpp"

namespace assay::optimized {

/// The columns that hold the two functions of a pair.
struct column_places {
  bool interleaved, sine_first;
  /// Number of columns of the first function, of the second function, and of both.
  std::size_t leading, trailing, width;
  [[nodiscard]] std::size_t first(std::size_t pair) const { return interleaved ? 2 * pair : pair; }
  [[nodiscard]] std::size_t second(std::size_t pair) const { return interleaved ? 2 * pair + 1 : leading + pair; }
};

inline constexpr std::size_t rows_of_a_task = 256;

inline std::size_t blocks_of_rows(std::size_t rows) { return (rows + rows_of_a_task - 1) / rows_of_a_task; }

/// Calls visit(block, first, last) for every block of `rows` rows, on all threads.
///
///     for_each_block(on, n, [&](std::size_t, std::size_t first, std::size_t last) {
///       for (std::size_t i = first; i < last; ++i) fill(part(table, i));
///     });
template <class Visit>
void for_each_block(const execution& on, std::size_t rows, Visit visit) {
  for_each_task(on.threads, blocks_of_rows(rows), [&](std::size_t block) {
    visit(block, block * rows_of_a_task, std::min(rows, (block + 1) * rows_of_a_task));
  });
}

/// Fills one row. Columns that belong to no pair keep their values.
///
///     rotations found(theta.size(), false);
///     theta.find(*on.kernels, 7.0, found);
///     write_row(places, found, part(table, 7));
template <class Real>
void write_row(const column_places& places, const rotations& found, const view<Real, 1>& row) {
  const double* first = places.sine_first ? found.sine.data() : found.cosine.data();
  const double* second = places.sine_first ? found.cosine.data() : found.sine.data();
  if (!row.has_unit_rows()) {
    for (std::size_t pair = 0; pair < places.leading; ++pair)
      *row.at(places.first(pair)) = static_cast<Real>(first[pair]);
    for (std::size_t pair = 0; pair < places.trailing; ++pair)
      *row.at(places.second(pair)) = static_cast<Real>(second[pair]);
  } else if (places.interleaved) {
    for (std::size_t pair = 0; pair < places.trailing; ++pair) {
      row.data[2 * pair] = static_cast<Real>(first[pair]);
      row.data[2 * pair + 1] = static_cast<Real>(second[pair]);
    }
    if (places.leading > places.trailing) row.data[2 * places.trailing] = static_cast<Real>(first[places.trailing]);
  } else {
    const auto round = [](double x) { return static_cast<Real>(x); };
    std::transform(first, first + places.leading, row.data, round);
    std::transform(second, second + places.trailing, row.data + places.leading, round);
  }
}

/// Fills the table, [rows, width]. Row i holds the functions of (position i + offset) times the frequencies. Threads
/// share the blocks of rows; every result is independent of the others.
///
///     write_table(on, {true, true, d / 2, d / 2, d}, theta, dense<const double, 1>(position.data(), {n}), 0.0, table);
template <class Real>
void write_table(const execution& on, const column_places& places, const prepared_frequencies& theta,
                 const view<const double, 1>& position, double offset, const view<Real, 2>& table) {
  for_each_block(on, position.shape[0], [&](std::size_t, std::size_t begin, std::size_t end) {
    rotations found(theta.size(), false);
    for (std::size_t i = begin; i < end; ++i) {
      theta.find(*on.kernels, *position.at(i) + offset, found);
      write_row(places, found, part(table, i));
    }
  });
}

}  // namespace assay::optimized
