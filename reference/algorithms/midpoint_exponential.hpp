// The exponential of the midpoint of a matrix, and its derivative, with a proved bound on the error of plain arithmetic
// in them. skew_exponential.hpp builds its proofs on this.
#pragma once

#include <gmp.h>

#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "reference/readings/two_double.hpp"

namespace assay::reference::midpoint {

// Increases a bound that was computed with few roundings, or from sums of squares of at most 2^20 numbers.
inline double up(double bound) { return bound * (1.0 + 0x1p-30); }
inline double root_up(double squares) { return up(std::sqrt(squares)); }

// A double that is at least |x|.
inline double bound_of(double x) { return std::fabs(x); }
inline double bound_of(const two_double& x) { return up(std::fabs(x.high)); }

// Matrices of numbers that are rounded after each operation, with a relative error of at most `eps`. For two_double it
// is 3 u^2 / (1 - 4 u) for a sum (Joldes, Muller and Popescu 2017, theorem 3.1) and 2^-102 for a product
// (two_double.hpp).
template <class Number>
struct floating_arithmetic {
  using matrix = std::vector<Number>;
  static constexpr double eps = std::is_same_v<Number, double> ? 0x1p-53 : 0x1p-101;
  static constexpr int bits = std::is_same_v<Number, double> ? 58 : 108;  // the remainder is 2^-bits
  static constexpr int halvings = std::is_same_v<Number, double> ? 1 : 2;
  std::size_t b;
  double unit = 1.0;  // the unit of errors
  double remainder = std::ldexp(1.0, -bits);

  static double norm(const matrix& x) {
    double sum = 0.0;
    for (const Number& y : x) sum += bound_of(y) * bound_of(y);
    return root_up(sum);
  }
  [[nodiscard]] matrix identity() const {
    matrix r(b * b, Number(0.0));
    for (std::size_t i = 0; i < b; ++i) r[i * b + i] = Number(1.0);
    return r;
  }
  [[nodiscard]] matrix zero() const { return matrix(b * b, Number(0.0)); }
  using pair = std::array<const matrix*, 2>;
  // In two doubles the sum of high products is exact, apart from the low parts, which are added in plain arithmetic
  // (Ogita, Rump and Oishi 2005, "Accurate sum and dot product", algorithm 5.3). For m terms the low parts are at most
  // 4 u |x y| each, and u of each partial sum: together (m + 4) u of the sum of |x y|. Their m + 3 additions round
  // this: (m + 4)^2 u^2 of the sum in all.
  static void add_product(double& sum, double x, double y) { sum += x * y; }
  static void add_product(two_double& sum, const two_double& x, const two_double& y) {
    const exact_product p(x.high, y.high);
    const exact_sum s(sum.high, p.product);
    sum.high = s.sum;
    sum.low += s.error + (p.error + (x.high * y.low + x.low * y.high));
  }
  // out = (sum of products) / k, plus the identity where it is wanted. Returns a bound on the error in Frobenius's
  // norm: for m terms (m + 8) eps / (1 - (m + 8) eps), of which 6 are for a division, times the products of the
  // absolute values, and 2 eps of the result for the identity (Higham 2002, section 3.5). Products below 2^-960 may
  // lose 2^-1060 each.
  double product(matrix& out, std::initializer_list<pair> pairs, double k, bool with_identity) const {
    matrix r = zero();
    double sizes = 0.0;
    for (const auto& [x, y] : pairs) {
      sizes += norm(*x) * norm(*y);
      for (std::size_t i = 0; i < b; ++i)
        for (std::size_t l = 0; l < b; ++l) {
          const Number& factor = (*x)[i * b + l];
          if (bound_of(factor) == 0.0) continue;
          for (std::size_t j = 0; j < b; ++j) add_product(r[i * b + j], factor, (*y)[l * b + j]);
        }
    }
    if constexpr (!std::is_same_v<Number, double>)
      for (Number& z : r) z = two_double(exact_sum(z.high, z.low));
    if (k != 1.0)
      for (Number& z : r) {
        if constexpr (std::is_same_v<Number, double>)
          z /= k;
        else
          z = quotient(z, two_double(k)).value;
      }
    for (std::size_t i = 0; with_identity && i < b; ++i) {
      if constexpr (std::is_same_v<Number, double>)
        r[i * b + i] += 1.0;
      else
        r[i * b + i] = sum(r[i * b + i], two_double(1.0)).value;
    }
    out = std::move(r);
    const double m = static_cast<double>(b * pairs.size()) + 8.0,
                 error_of_one = std::is_same_v<Number, double> ? eps : m * 0x1p-105;
    const double gamma = m * error_of_one / (1.0 - m * error_of_one) + 8.0 * eps;
    return up(gamma * sizes / k + (with_identity ? 2.0 * eps * norm(out) : 0.0)) +
           m * static_cast<double>(b) * 0x1p-1000;
  }
};

// Integers that count multiples of 2^-bits; errors are counted in the same unit.
class fixed_arithmetic {
 public:
  class matrix {
   public:
    explicit matrix(std::size_t n) : entries_(n) {
      for (auto& z : entries_) mpz_init(&z);
    }
    matrix(const matrix& other) : entries_(other.entries_.size()) {
      for (std::size_t k = 0; k < entries_.size(); ++k) mpz_init_set(&entries_[k], &other.entries_[k]);
    }
    matrix(matrix&& other) noexcept { entries_.swap(other.entries_); }
    matrix& operator=(matrix other) noexcept {
      entries_.swap(other.entries_);
      return *this;
    }
    ~matrix() {
      for (auto& z : entries_) mpz_clear(&z);
    }
    mpz_ptr operator[](std::size_t k) { return &entries_[k]; }
    mpz_srcptr operator[](std::size_t k) const { return &entries_[k]; }

   private:
    std::vector<__mpz_struct> entries_;
  };
  static constexpr int halvings = 8;
  std::size_t b;
  int bits;
  // Numbers always have at least 100 bits: this bounds the squares of errors.
  double unit = 0x1p-100;
  double remainder = 1.0;

  [[nodiscard]] matrix zero() const { return matrix(b * b); }
  [[nodiscard]] matrix identity() const {
    matrix r(b * b);
    for (std::size_t i = 0; i < b; ++i) mpz_setbit(r[i * b + i], static_cast<mp_bitcnt_t>(bits));
    return r;
  }
  using pair = std::array<const matrix*, 2>;
  // Each entry is rounded once, by less than one unit.
  double product(matrix& out, std::initializer_list<pair> pairs, double k, bool with_identity) const {
    matrix r(b * b);
    for (std::size_t i = 0; i < b; ++i) {
      for (const auto& [x, y] : pairs)
        for (std::size_t l = 0; l < b; ++l) {
          mpz_srcptr factor = (*x)[i * b + l];
          if (mpz_sgn(factor) == 0) continue;
          for (std::size_t j = 0; j < b; ++j) mpz_addmul(r[i * b + j], factor, (*y)[l * b + j]);
        }
      for (std::size_t j = 0; j < b; ++j) {
        mpz_fdiv_q_2exp(r[i * b + j], r[i * b + j], static_cast<mp_bitcnt_t>(bits));
        // The floor of a quotient of a floor is the floor of the whole quotient.
        if (k != 1.0) mpz_fdiv_q_ui(r[i * b + j], r[i * b + j], static_cast<unsigned long>(k));
      }
    }
    if (with_identity) {
      const matrix one = identity();
      for (std::size_t i = 0; i < b; ++i) mpz_add(r[i * b + i], r[i * b + i], one[i * b + i]);
    }
    out = std::move(r);
    return static_cast<double>(b);
  }
};

template <class Arithmetic>
struct computed {
  typename Arithmetic::matrix exponential, slope;
  double error, error_of_slope;  // in Frobenius's norm
};

/// How X is scaled, and how many terms its series has.
struct scaling {
  double norm;  // norm of the scaled matrix: at least its 2-norm
  int halvings, terms;
  scaling(double norm_of_x, int further_halvings, int bits, std::size_t b) : norm(norm_of_x) {
    halvings = norm > 0.0 ? std::max(0, std::ilogb(norm) + 1 + further_halvings) : 0;
    norm = std::ldexp(norm, -halvings);
    // The remainders are 2 b y^(K+1) / (K+1)! for the series, and 2 y^K / K! for its derivative, with y <= 1/2.
    // Horner's rule needs at least one term.
    const double bound = -static_cast<double>(bits) - 1.0;
    double power = 1.0;  // log2(2 b y^K / K!), and one bit for its roundings
    power += std::log2(2.0 * static_cast<double>(b));
    for (terms = 0; terms < 1 || power > bound; ++terms)
      power += norm > 0.0 ? std::log2(norm) - std::log2(terms + 1.0) : -std::numeric_limits<double>::infinity();
  }
};

// exp(2^s Y), and its slope along 2^s H. skew_exponential.hpp derives the bounds. `size` is at least Frobenius's norm
// of H.
template <class Arithmetic>
computed<Arithmetic> exponentiate(const Arithmetic& in, const scaling& scaled, const typename Arithmetic::matrix& y,
                                  const typename Arithmetic::matrix* h, double size) {
  typename Arithmetic::matrix p = in.identity(), q = in.zero();
  double ep = 0.0, eq = 0.0;
  for (int k = scaled.terms; k >= 1; --k) {
    if (h != nullptr) {
      const double rounding = in.product(q, {{&y, &q}, {h, &p}}, k, false);
      eq = up((scaled.norm * eq + size * ep) / k + rounding);
    }
    const double rounding = in.product(p, {{&y, &p}}, k, true);
    ep = up(scaled.norm * ep / k + rounding);
  }
  ep = up(ep + in.remainder), eq = up(eq + in.remainder * size);
  for (int k = 0; k < scaled.halvings; ++k) {
    if (h != nullptr) {
      const double rounding = in.product(q, {{&p, &q}, {&q, &p}}, 1.0, false);
      eq = up(2.0 * (eq + ep * size + ep * eq * in.unit) + rounding);
      size *= 2.0;
    }
    const double rounding = in.product(p, {{&p, &p}}, 1.0, false);
    ep = up(2.0 * ep + ep * ep * in.unit + rounding);
  }
  return {std::move(p), std::move(q), ep, eq};
}

// The 2-norm of a skew-symmetric matrix is at most its largest row sum, and at most Frobenius's norm.
struct norms {
  double squares = 0.0, row = 0.0, largest = 0.0;
  [[nodiscard]] double two_norm() const { return std::min(root_up(squares), up(largest)); }
};
template <class Size>
norms norms_of(std::size_t b, Size size) {
  norms all;
  for (std::size_t i = 0; i < b; ++i) {
    all.row = 0.0;
    for (std::size_t j = 0; j < b; ++j) {
      const double s = size(i * b + j);
      all.row += s, all.squares += s * s;
    }
    all.largest = std::max(all.largest, all.row);
  }
  return all;
}

}  // namespace assay::reference::midpoint
