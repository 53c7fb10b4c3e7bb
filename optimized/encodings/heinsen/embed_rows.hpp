// The rows of arrays as matrices, for the linear maps of embed_position.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "optimized/encodings/heinsen/embed_blocks.hpp"
#include "optimized/matrix_product.hpp"
#include "optimized/views.hpp"
#include "optimized/workspace.hpp"

namespace assay::optimized::heinsen::embedding {

/// The number of elements from one row to the next, for blocks of `sequences` sequences. It is 0 if BLAS cannot read
/// the rows in place.
template <class T>
std::size_t step_of_rows(const view<T, 3>& v, std::size_t sequences) {
  const auto [batch, tokens, width] = v.shape;
  const bool one_token = tokens <= 1, one_sequence = sequences <= 1;
  const std::ptrdiff_t step = !one_token      ? v.stride[1]
                              : !one_sequence ? v.stride[0]
                                              : static_cast<std::ptrdiff_t>(width);
  const bool evenly = one_token || one_sequence || v.stride[0] == static_cast<std::ptrdiff_t>(tokens) * step;
  const bool apart = step >= static_cast<std::ptrdiff_t>(width) && step <= static_cast<std::ptrdiff_t>(matrix_limit);
  return v.has_unit_rows() && evenly && apart && width > 0 ? static_cast<std::size_t>(step) : 0;
}

template <class T>
view<T, 3> sequences_of(const view<T, 3>& v, const block& b) {
  return {b.rows() == 0 ? v.data : v.at(b.first_sequence, b.first_token, std::size_t{0}),
          {b.sequences, b.tokens, v.shape[2]},
          v.stride};
}

/// Copies v to an array without gaps, and back.
template <class Real>
void gather(const view<const Real, 3>& v, Real* to) {
  for (std::size_t b = 0; b < v.shape[0]; ++b)
    for (std::size_t i = 0; i < v.shape[1]; ++i)
      for (std::size_t k = 0; k < v.shape[2]; ++k) *to++ = *v.at(b, i, k);
}
template <class Real>
void scatter(const Real* from, const view<Real, 3>& v) {
  for (std::size_t b = 0; b < v.shape[0]; ++b)
    for (std::size_t i = 0; i < v.shape[1]; ++i)
      for (std::size_t k = 0; k < v.shape[2]; ++k) *v.at(b, i, k) = *from++;
}

/// A matrix as one sequence of rows.
template <class T>
view<T, 3> one_sequence(const view<T, 2>& v) {
  return {v.data, {1, v.shape[0], v.shape[1]}, {0, v.stride[0], v.stride[1]}};
}

/// The rows of x, of y or of a similar array. They stay in place if BLAS can read them there. Otherwise they are copied
/// to an array without gaps, for the rows of one block or for all rows.
template <class T>
class rows {
 public:
  using Real = std::remove_const_t<T>;
  rows(const view<T, 3>& v, std::size_t sequences) : v_(v), step_(step_of_rows(v, sequences)) {}

  [[nodiscard]] std::size_t copied(std::size_t count) const { return step_ == 0 ? count * v_.shape[2] : 0; }
  /// The rows of a block. `place` has room for copied(b.rows()) elements.
  [[nodiscard]] matrix<T> block_rows(const block& b, Real* place) const {
    const view<T, 3> part = sequences_of(v_, b);
    if (step_ != 0) return {part.data, b.rows(), v_.shape[2], step_};
    if constexpr (std::is_const_v<T>) gather(part, place);
    return {place, b.rows(), v_.shape[2], v_.shape[2]};
  }
  /// All rows. `place` holds the copy that `block_rows` made for each block, at the row of the block.
  [[nodiscard]] matrix<T> all(Real* place) const {
    const std::size_t count = v_.shape[0] * v_.shape[1], width = v_.shape[2];
    return step_ != 0 ? matrix<T>{v_.data, count, width, step_} : matrix<T>{place, count, width, width};
  }
  /// Copies the rows written at `place` to the array.
  void finish(const block& b, const Real* place) const {
    if (step_ == 0) scatter(place, sequences_of(v_, b));
  }

 private:
  view<T, 3> v_;
  std::size_t step_;
};

/// A whole matrix of weights, or of their gradients, as one block.
template <class T>
block whole(const view<T, 2>& v) {
  return {0, 0, 0, 1, 0, v.shape[0], 0};
}
template <class Real>
matrix<const Real> weights(const view<const Real, 2>& v, scoped_arrays& memory) {
  const rows<const Real> r(one_sequence(v), 1);
  return r.block_rows(whole(v), memory.take<Real>(r.copied(v.shape[0])));
}
template <class Real>
const Real* bias(const view<const Real, 1>& v, scoped_arrays& memory) {
  Real* to = memory.take<Real>(v.shape[0]);
  for (std::size_t i = 0; i < v.shape[0]; ++i) to[i] = *v.at(i);
  return to;
}

template <class Real>
void fill_rows(const matrix<Real>& m, const Real* row) {
  for (std::size_t i = 0; i < m.rows; ++i) std::copy_n(row, m.columns, m.data + i * m.step);
}
template <class Real>
void fill_zeros(const matrix<Real>& m) {
  for (std::size_t i = 0; i < m.rows; ++i) std::fill_n(m.data + i * m.step, m.columns, Real(0));
}
/// Sets `to` to m + row, or to m if there is no row.
template <class Real>
void copy_plus(const matrix<const Real>& m, const Real* row, const matrix<Real>& to) {
  for (std::size_t i = 0; i < m.rows; ++i)
    for (std::size_t k = 0; k < m.columns; ++k)
      to.data[i * to.step + k] = row == nullptr ? m.data[i * m.step + k] : m.data[i * m.step + k] + row[k];
}
template <class Real>
void add_columns(const matrix<const Real>& m, Real* sums) {
  for (std::size_t i = 0; i < m.rows; ++i)
    for (std::size_t k = 0; k < m.columns; ++k) sums[k] += m.data[i * m.step + k];
}

/// Returns the gate logits or the h of a block. They lie side by side, as W_H gives them.
template <class T>
view<T, 3> half(const matrix<T>& both, const block& b, std::size_t which) {
  const std::size_t d = both.columns / 2;
  view<T, 3> v = dense<T, 3>(both.data, {b.sequences, b.tokens, 2 * d});
  v.shape[2] = d;
  if (which == 1 && v.size() > 0) v.data += d;
  return v;
}
template <class T>
view<T, 3> states(const matrix<T>& s, const block& b) {
  return dense<T, 3>(s.data, {b.sequences, b.tokens, s.columns});
}

}  // namespace assay::optimized::heinsen::embedding
