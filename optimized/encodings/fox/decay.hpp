// The decay of forgetting attention row by row, and its adjoint: what its own operations and attention share.
#pragma once

#include <cstddef>
#include <vector>

#include "optimized/views.hpp"

namespace assay::optimized::fox {

/// Token by token of one row and head of [B, n, heads].
template <class T>
view<T, 1> lane_of(const view<T, 3>& gates, std::size_t row, std::size_t head) {
  return {gates.at(row, std::size_t{0}, head), {gates.shape[1]}, {gates.stride[1]}};
}

/// The columns [first, first + columns) of D, [n, n], for log f in double, row after row. Every column is a running sum
/// of its own that starts at the diagonal, so its error grows with the distance of the two tokens and not with their
/// positions, and log f = -inf stays among the pairs that it separates. Where log f is f32 the sums are of doubles,
/// where it is f64 with a second number for what the additions leave (Knuth 1998, section 4.2.2, theorem B).
template <class Real>
class decay_rows {
 public:
  decay_rows(const view<const double, 1>& log_f, std::size_t first, std::size_t columns)
      : log_f_(log_f), first_(first), high_(columns), low_(sizeof(Real) == sizeof(double) ? columns : 0) {}

  /// Writes the next row, of which there are n: -inf above the diagonal.
  template <class Out>
  void write_next(const view<Out, 1>& row);

 private:
  view<const double, 1> log_f_;
  std::size_t first_, next_ = 0;
  std::vector<double> high_, low_;
};

/// Adds to the gradient of log f, [n], what consecutive rows of the cotangents of D give, [rows, n], of which the first
/// is row `first`. Cotangents above and on the diagonal are not read.
template <class Real>
void add_decay_gradient(const view<const Real, 2>& rows, std::size_t first, double* gradient);

}  // namespace assay::optimized::fox
