// Products of matrices by OpenBLAS, on the thread that calls.
//
// Order: of a sum over k products, that of OpenBLAS's kernels. It depends on the three sizes, on which factors are
// transposed and on the processor (or OPENBLAS_CORETYPE), and on nothing else: not on threads, steps or addresses.
// Special values: infinities and NaN as IEEE arithmetic has it. No product is left out, 0 times infinity is NaN.
// Bound: |error| <= gamma_(k + 1) (sum |a b| + |c|), gamma_k = k u / (1 - k u), for every order of summation, fused or
// not [Higham 2002, section 3.1].
#pragma once

#include <cstddef>
#include <type_traits>

namespace assay::optimized {

/// Element (i, k) at data[i * step + k], or at data[k * step + i] where transposed.
template <class T>
struct matrix {
  T* data;
  std::size_t rows, columns;  ///< as they take part in the product, and at most matrix_limit
  std::size_t step;           ///< at least the number of elements of a stored row, and at most matrix_limit
  bool transposed = false;

  operator matrix<const T>() const requires(!std::is_const_v<T>) { return {data, rows, columns, step, transposed}; }

  /// The rows [first, first + count).
  [[nodiscard]] matrix rows_from(std::size_t first, std::size_t count) const {
    return {data == nullptr ? nullptr : data + first * (transposed ? 1 : step), count, columns, step, transposed};
  }
};

/// BLAS counts in int.
inline constexpr std::size_t matrix_limit = 0x7fffffff;

template <class T>
matrix<T> transpose_of(const matrix<T>& m) {
  return {m.data, m.columns, m.rows, m.step, !m.transposed};
}

/// c += a b. c is not transposed and overlaps neither a nor b.
void add_product(const matrix<const float>& a, const matrix<const float>& b, const matrix<float>& c);
void add_product(const matrix<const double>& a, const matrix<const double>& b, const matrix<double>& c);

}  // namespace assay::optimized
