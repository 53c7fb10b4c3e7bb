// Products of matrices by OpenBLAS, on the calling thread.
//
// Order: the kernels of OpenBLAS choose the order of a sum over k products. It depends on the three sizes, on which
// factors are transposed and on the processor (or OPENBLAS_CORETYPE). It does not depend on threads, steps or
// addresses.
// Special values: infinities and NaN follow IEEE arithmetic. No product is left out, so 0 times infinity is NaN.
// Bound: |error| <= gamma_(k + 1) (sum |a b| + |c|), gamma_k = k u / (1 - k u). It holds for every order of summation,
// with and without fused operations [Higham 2002, section 3.1].
#pragma once

#include <cstddef>
#include <type_traits>

namespace assay::optimized {

/// Element (i, k) is at data[i * step + k], or at data[k * step + i] if `transposed` is true.
template <class T>
struct matrix {
  T* data;
  std::size_t rows, columns;  ///< the sizes in the product, each at most matrix_limit
  std::size_t step;           ///< at least the number of elements of a stored row, and at most matrix_limit
  bool transposed = false;

  operator matrix<const T>() const requires(!std::is_const_v<T>) { return {data, rows, columns, step, transposed}; }

  /// Returns the rows [first, first + count).
  [[nodiscard]] matrix rows_from(std::size_t first, std::size_t count) const {
    return {data == nullptr ? nullptr : data + first * (transposed ? 1 : step), count, columns, step, transposed};
  }
};

/// BLAS counts with int.
inline constexpr std::size_t matrix_limit = 0x7fffffff;

template <class T>
matrix<T> transpose_of(const matrix<T>& m) {
  return {m.data, m.columns, m.rows, m.step, !m.transposed};
}

/// Computes c += a b. c is not transposed, and it overlaps neither a nor b.
void add_product(const matrix<const float>& a, const matrix<const float>& b, const matrix<float>& c);
void add_product(const matrix<const double>& a, const matrix<const double>& b, const matrix<double>& c);

}  // namespace assay::optimized
