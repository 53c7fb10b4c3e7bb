// The decay of forgetting attention row by row, and its adjoint. The decay operations and attention share them.
#pragma once

#include <cstddef>
#include <vector>

#include "optimized/views.hpp"

namespace assay::optimized::fox {

/// The tokens of one row and one head of [B, n, heads].
template <class T>
view<T, 1> lane_of(const view<T, 3>& gates, std::size_t row, std::size_t head) {
  return {gates.at(row, std::size_t{0}, head), {gates.shape[1]}, {gates.stride[1]}};
}

/// The columns [first, first + columns) of D, [n, n], row after row, for log f in double. Each column is a running sum
/// of its own that starts at the diagonal. Its error therefore grows with the distance of the two tokens and not with
/// their positions, and log f = -inf affects only the pairs that it separates. If log f is f32, the sums are doubles.
/// If it is f64, each sum has a second number that keeps the rounding errors of the additions (Knuth 1998, section
/// 4.2.2, theorem B).
template <class Real>
class decay_rows {
 public:
  decay_rows(const view<const double, 1>& log_f, std::size_t first, std::size_t columns)
      : log_f_(log_f), first_(first), high_(columns), low_(sizeof(Real) == sizeof(double) ? columns : 0) {}

  /// Writes the next of the n rows; the row is -inf above the diagonal.
  template <class Out>
  void write_next(const view<Out, 1>& row);

 private:
  view<const double, 1> log_f_;
  std::size_t first_, next_ = 0;
  std::vector<double> high_, low_;
};

/// Adds the contribution of consecutive rows of the cotangents of D, [rows, n], to the gradient of log f, [n]. Their
/// first row is row `first` of D. Cotangents above and on the diagonal are not read.
template <class Real>
void add_decay_gradient(const view<const Real, 2>& rows, std::size_t first, double* gradient);

}  // namespace assay::optimized::fox
