// Rows over the root of the mean of their squares (Zhang and Sennrich, "Root Mean Square Layer Normalization", NeurIPS
// 2019, arXiv 1910.07467, eq. 4), with a number under the root that keeps rows of zeros.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "reference/algorithms/settings.hpp"
#include "reference/readings/adjoint.hpp"

namespace assay::reference {

/// 1 / sqrt(x) for x > 0: a square root and a division, or the reciprocal root of a GPU, which is within 2 ulp (CUDA
/// C++ Programming Guide, rsqrtf): at most 4 u of it.
template <class R>
R reciprocal_root(const R& x) {
  if constexpr (std::is_same_v<R, tracked>) {
    const double r = 1.0 / std::sqrt(x.number), least = 1.0 - tracked::u() * x.error / x.number;
    const double grown =
        least > 0.0 ? r * (1.0 / std::sqrt(least) - 1.0) / tracked::u() : std::numeric_limits<double>::infinity();
    return {r, grown + 4.0 * r + tracked::tau()};
  } else {
    return power(x, ratio(-1, 2));
  }
}
template <carries_derivatives D>
D reciprocal_root(const D& x) {
  using R = typename D::underlying;
  const R r = reciprocal_root(x.number);
  return D::made(r, D::by(x, [&] { return R(-0.5) * r / x.number; }));
}

/// x / sqrt(mean of x^2 + epsilon) of one row, and what it is multiplied by for that. Squares that overflow the format
/// leave nothing of a row: an allowance has no end there.
template <class R>
std::vector<R> scaled_row(const std::vector<R>& x, double epsilon, R& over) {
  accumulator<R> squares;
  for (const R& y : x) squares.add_product(y, y);
  R sum = squares.total();
  if constexpr (std::is_same_v<R, tracked>)
    if (sum.number > core::largest_finite(arithmetic().type)) sum.error = std::numeric_limits<double>::infinity();
  over = reciprocal_root(sum / R(static_cast<double>(x.size())) + from_setting<R>(epsilon));
  std::vector<R> row;
  for (const R& y : x) row.push_back(y * over);
  return row;
}
/// With its adjoint as one block: x' = over (y' - y mean(y' y)), which cancels where a row has one feature that counts,
/// and forms no power of `over`.
template <class R>
std::vector<adjoint<R>> taped_row(const std::vector<adjoint<R>>& x, double epsilon) {
  std::vector<R> plain;
  std::vector<typename tape<R>::node> from;
  for (const adjoint<R>& y : x) plain.push_back(y.number), from.push_back(y.node);
  R over;
  const std::vector<R> row = scaled_row(plain, epsilon, over);
  const auto first = tape<R>::current().add_block(row.size(), [=](tape<R>& graph, std::span<const cotangent<R>> g) {
    accumulator<R> along;
    for (std::size_t c = 0; c < row.size(); ++c) along.add_product(g[c].by_magnitude(), by_magnitude(row[c]));
    const R mean = along.total() / R(static_cast<double>(row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) {
      accumulator<R> sum;
      sum.add(g[c].by_magnitude());
      sum.add_product(std::is_same_v<R, tracked> ? by_magnitude(row[c]) : -row[c],
                      mean);  // a magnitude does not cancel
      graph.put(from[c], cotangent<R>(sum.total() * over));
    }
  });
  std::vector<adjoint<R>> out;
  for (std::size_t c = 0; c < row.size(); ++c) out.emplace_back(row[c], first + static_cast<unsigned>(c));
  return out;
}

template <class R>
std::vector<R> normalised(const std::vector<R>& x, double epsilon) {
  if constexpr (is_adjoint<R>) {
    return taped_row<typename R::underlying>(x, epsilon);
  } else {
    R over;
    return scaled_row(x, epsilon, over);
  }
}

}  // namespace assay::reference
