// The exponential of a skew-symmetric matrix, exp(X) = sum_k X^k / k!, X^T = -X: the rotation of b coordinates by X.
//
// Shapes: X, its exponential and cotangents are [b, b], row-major. Precondition: X is skew-symmetric. Most readings
// read the part above the diagonal alone, and store its cotangent there. Special values: exp(0) is the identity
// exactly; coordinates that X does not connect do not mix, and have exact zeros; a NaN or an infinity in X makes all of
// exp(X) NaN.
//
// Derivative: L(X, G), the derivative of exp at X along G, stands above the diagonal of exp([[X, G], [0, X]]) (Higham
// 2008, Functions of Matrices, eq. (10.12)). The adjoint of L(X, .) is L(X^T, .) = L(-X, .).
//
// Bounds. exp(X) is orthogonal. All norms here are 2-norms (Frobenius's is larger), and both maps do not expand:
//   ||exp(X + E) - exp(X)|| <= ||E||            (ibid., theorem 10.16, with norms 1 in the integral)
//   ||L(X, G)|| <= ||G||,  ||L(X + E, G) - L(X, G)|| <= ||E|| ||G||
// No entry of a matrix is larger than its norm.
//
// Proofs use no interval arithmetic, whose widths would grow b-fold with each squaring. They exponentiate the midpoint
// in plain arithmetic, in integers (multiples of 2^-f) or in one or two doubles, and compute a bound beside it:
//   Y = X / 2^s, P = sum over k <= K of Y^k / k! by Horner's rule, squared s times;
//   the remainder of P is at most ||Y||^(K+1) / (K+1)! / (1 - ||Y|| / (K+2));
//   a squaring turns an error e of a matrix of norm 1 into 2 e + e^2, and adds the roundings of a product.
//
// Allowance. Products with orthogonal matrices carry a rounding in exp(Y) or in a square on, 2^s / 2^k times after the
// k-th squaring. Roundings are independent of these matrices. So entry (i, j) gets u^T D v from them, with unit vectors
// u and v: the root of the sum of squares of its roundings (Higham and Mary 2019, "A new approach to probabilistic
// rounding error analysis", theorem 2.4), where partial sums of rows of orthogonal matrices are at most 1:
//   k = 2^s sqrt((b + K) + (b + 1) (1/4 + 1/16 + ...)) <= max(1, 4 ||X||_1) sqrt(4/3 (b + K)),  K = 16,
// where 2^s <= 4 ||X||_1 for ||Y||_1 <= 1/2: other programs scale less (torch.matrix_exp to 3, scipy.linalg.expm to 5).
// The allowance grows with the norm of X, as the error of X itself does, and not with its exponential. The first bound
// above carries the errors of X: the largest row sum of these errors. For L(X, G) both count twice, times ||G||.
// Automatic differentiation in PyTorch exponentiates [[X, G], [0, X]] as a whole, and scales G with X, to a norm of
// 3.01 in f32 and of 1.09 in f64. There 2^s is at most 2/3 of ||X||_1 + ||G||_1, and 1.84 times that sum in f64; the
// allowance uses this where it is more than 4 ||X||_1.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "reference/readings/differentiated.hpp"
#include "reference/readings/rounded.hpp"
#include "reference/readings/tracked.hpp"

namespace assay::reference {

template <class R>
using square_matrix = std::vector<R>;

square_matrix<value> exponential_of(const square_matrix<value>& x, std::size_t b);
square_matrix<enclosure> exponential_of(const square_matrix<enclosure>& x, std::size_t b);
square_matrix<tracked> exponential_of(const square_matrix<tracked>& x, std::size_t b);
template <class Number>
square_matrix<ball<Number>> exponential_of(const square_matrix<ball<Number>>& x, std::size_t b);

square_matrix<value> exponential_slope(const square_matrix<value>& x, const square_matrix<value>& g, std::size_t b);
square_matrix<enclosure> exponential_slope(const square_matrix<enclosure>& x, const square_matrix<enclosure>& g,
                                           std::size_t b);
/// `size` is Frobenius's norm of the cotangents, each counted by magnitude.
square_matrix<tracked> exponential_slope(const square_matrix<tracked>& x, const square_matrix<tracked>& g,
                                         std::size_t b, double size);
template <class Number>
square_matrix<ball<Number>> exponential_slope(const square_matrix<ball<Number>>& x,
                                              const square_matrix<ball<Number>>& g, std::size_t b);

/// The largest row sum of |X|, as a double.
template <class R>
double largest_row_sum(const square_matrix<R>& x, std::size_t b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < b; ++i) {
    double sum = 0.0;
    for (std::size_t j = 0; j < b; ++j) sum += std::fabs(to_double(x[i * b + j]));
    largest = std::isnan(sum) ? sum : std::max(largest, sum);
  }
  return largest;
}

/// a b + c d, or a b where c is empty, each entry as one sum.
template <class R>
square_matrix<R> sum_of_products(std::size_t n, const square_matrix<R>& a, const square_matrix<R>& b,
                                 const square_matrix<R>& c = {}, const square_matrix<R>& d = {}) {
  square_matrix<R> r;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      R sum(0.0);  // in the format of the exponential, whatever format other sums have
      for (std::size_t k = 0; k < n; ++k) {
        sum = sum + a[i * n + k] * b[k * n + j];
        if (!c.empty()) sum = sum + c[i * n + k] * d[k * n + j];
      }
      r.push_back(sum);
    }
  return r;
}

template <class R>
square_matrix<R> identity_matrix(std::size_t b) {
  square_matrix<R> one(b * b, R(0.0));
  for (std::size_t i = 0; i < b; ++i) one[i * b + i] = R(1.0);
  return one;
}

/// The first terms of the series by Horner's rule, without scaling. `slope`, where it is not empty, is replaced by the
/// slope along it.
template <class R>
square_matrix<R> exponential_series(const square_matrix<R>& x, std::size_t b, int terms, square_matrix<R>& slope) {
  square_matrix<R> p = identity_matrix<R>(b), q(slope.size(), R(0.0));
  for (int k = terms; k >= 1; --k) {
    const R divisor(static_cast<double>(k));
    if (!slope.empty()) q = sum_of_products(b, x, q, slope, p);
    for (R& y : q) y = y / divisor;
    p = sum_of_products(b, x, p);
    for (std::size_t i = 0; i < b; ++i)
      for (std::size_t j = 0; j < b; ++j) {
        R& y = p[i * b + j];
        y = i == j ? y / divisor + R(1.0) : y / divisor;
      }
  }
  slope = std::move(q);
  return p;
}

/// Scaling and squaring as in plain code: X / 2^s with ||X||_1 / 2^s <= 1/2, 14 terms (the remainder is 2^-55), s
/// squarings. It also takes matrices that are not skew-symmetric.
template <class R>
square_matrix<R> scaled_and_squared(square_matrix<R> x, std::size_t b, square_matrix<R>& slope) {
  const double norm = largest_row_sum(x, b);
  const int s = std::isfinite(norm) && norm > 0.5 ? std::max(std::ilogb(norm) + 2, 0) : 0;
  for (square_matrix<R>* m : {&x, &slope})
    for (R& y : *m)
      for (int k = 0; k < s; ++k) y = y * R(0.5);
  square_matrix<R> r = exponential_series(x, b, 14, slope);
  for (int k = 0; k < s; ++k) {
    if (!slope.empty()) slope = sum_of_products(b, r, slope, slope, r);
    r = sum_of_products(b, r, r);
  }
  return r;
}

inline square_matrix<rounded> exponential_of(const square_matrix<rounded>& x, std::size_t b) {
  square_matrix<rounded> none;
  return scaled_and_squared(x, b, none);
}
inline square_matrix<rounded> exponential_slope(const square_matrix<rounded>& x, const square_matrix<rounded>& g,
                                                std::size_t b) {
  square_matrix<rounded> slope = g;
  scaled_and_squared(x, b, slope);
  return slope;
}

/// Readings that have exponential_of, or that carry derivatives.
template <class R>
concept exponentiates_matrices = carries_derivatives<R> || requires(const square_matrix<R>& x) {
  exponential_of(x, std::size_t{1});
};

/// The cotangent of X above the diagonal, from a cotangent G of exp(X): the entries (i, j) of L(-X, G) less the entries
/// (j, i). Elsewhere there are zeros. `terms` is G without signs, from which allowances are made.
template <class R>
square_matrix<R> back_through_exponential(const square_matrix<R>& x, const square_matrix<R>& g,
                                          [[maybe_unused]] const square_matrix<R>& terms, std::size_t b) {
  square_matrix<R> negative;
  for (const R& y : x) negative.push_back(-y);
  const square_matrix<R> slope = [&] {
    if constexpr (std::is_same_v<R, tracked>) {
      // Cotangents may cancel, but their errors do not.
      square_matrix<R> charged = g;
      double squares = 0.0;
      for (std::size_t k = 0; k < charged.size(); ++k) {
        charged[k].error = std::max(charged[k].error, terms[k].error);
        squares += terms[k].number * terms[k].number;
      }
      return exponential_slope(negative, charged, b, std::sqrt(squares));
    } else {
      return exponential_slope(negative, g, b);
    }
  }();
  square_matrix<R> back(b * b, R(0.0));
  for (std::size_t i = 0; i < b; ++i)
    for (std::size_t j = i + 1; j < b; ++j) back[i * b + j] = slope[i * b + j] - slope[j * b + i];
  return back;
}

/// exp(X).
template <class R>
square_matrix<R> skew_exponential(const square_matrix<R>& x, std::size_t b) {
  if constexpr (carries_derivatives<R>) {  // along one direction
    using N = typename R::underlying;
    square_matrix<N> number, direction;
    for (const R& y : x) number.push_back(y.number), direction.push_back(y.derivative);
    const square_matrix<N> r = exponential_of(number, b), slope = exponential_slope(number, direction, b);
    square_matrix<R> out;
    for (std::size_t k = 0; k < b * b; ++k) out.emplace_back(r[k], slope[k]);
    return out;
  } else {
    return exponential_of(x, b);
  }
}

}  // namespace assay::reference
