// Wrong and right ways to sums of segments D_ij = a_{j+1} + ... + a_i (reference/algorithms/segment_sums.hpp), in plain
// arithmetic: steps of a recipe that has such `sums`.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <type_traits>
#include <vector>

#include "reference/algorithms/segment_sums.hpp"
#include "reference/readings/rounded.hpp"

namespace assay::properties::segments {

using R = reference::rounded;
using reference::const_lane;
using reference::lane;

/// Other sums, and their adjoint, in gradients too.
struct with_sums {
  std::function<void(const_lane<R> a, R* decay)> sums;
  std::function<void(const R* grad_decay, lane<R> grad_a)> adjoint = reference::segment_sums_adjoint<R>;

  template <class Recipe>
  void operator()(Recipe& how) const {
    if constexpr (std::is_same_v<typename Recipe::number, R>)
      how.sums = sums;
    else
      how.sums = [own = *this](const_lane<typename Recipe::number> a, typename Recipe::number* out) {
        reference::taped_segment_sums<R>(a, out, own.sums, own.adjoint);
      };
  }
};
/// D_ij = entry(a, i, j) for j <= i.
inline with_sums with_entry(R (*entry)(const_lane<R> a, std::size_t i, std::size_t j)) {
  return {[entry](const_lane<R> a, R* out) {
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j) out[i * a.size() + j] = entry(a, i, j);
  }};
}
/// Right below the diagonal; `above` it.
inline with_sums with_mask(double above) {
  return {[above](const_lane<R> a, R* out) {
    reference::segment_sums<R>(a, out);
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = i + 1; j < a.size(); ++j) out[i * a.size() + j] = R(above);
  }};
}
/// f(a_first) + ... + f(a_{last - 1})
inline R sum_of(
    const_lane<R> a, std::size_t first, std::size_t last, R (*f)(const R& a) = [](const R& x) { return x; }) {
  R sum(0.0);
  for (std::size_t l = first; l < last; ++l) sum = sum + f(a[l]);
  return sum;
}

/// The block of 16 tokens that the key lies in is decayed only to its end.
inline R carry_dropped(const_lane<R> a, std::size_t i, std::size_t j) {
  return sum_of(a, std::max(i / 16 * 16, j + 1), i + 1);
}

/// exp(C_i - C_k) exp(C_k - C_j), k an anchor in the block of 32 keys: right while both factors are numbers.
template <std::size_t anchor>
R factored(const_lane<R> a, std::size_t i, std::size_t j) {
  constexpr std::size_t block = 32;
  const std::size_t k = std::min(j / block * block + anchor, a.size() - 1);
  const R right = sum_of(a, j + 1, i + 1);
  if (i / block != j / block || is_minus_infinity(sum_of(a, std::min(j, k), std::max(i, k) + 1))) return right;
  const auto between = [&](std::size_t from, std::size_t to) {
    return from <= to ? sum_of(a, from + 1, to + 1) : -sum_of(a, to + 1, from + 1);
  };
  const R product = exp(between(k, i)) * exp(between(j, k));
  return product.number > 0.0 && std::isfinite(product.number) ? right : log(product);
}

/// The sum as a tree.
inline R halved(const_lane<R> a, std::size_t first, std::size_t last) {
  if (last - first < 2) return first == last ? R(0.0) : a[first];
  const std::size_t middle = first + (last - first) / 2;
  return halved(a, first, middle) + halved(a, middle, last);
}

/// The adjoint by suffix sums as the total less prefix sums. What the total holds and the suffix does not is left as
/// rounding, also of the first gate, whose gradient is 0.
inline void total_less_prefix(const R* grad, lane<R> grad_a) {
  const std::size_t n = grad_a.size();
  std::vector<R> before(n + 1, R(0.0));
  for (std::size_t r = 0; r < n; ++r) {
    R sum = before[r];
    for (std::size_t j = 0; j <= r; ++j) sum = sum + grad[r * n + j];
    for (std::size_t i = r; i < n; ++i) sum = sum - grad[i * n + r];
    before[r + 1] = sum;
  }
  for (std::size_t l = 0; l < n; ++l) grad_a[l] = before[n] - before[l];
}

}  // namespace assay::properties::segments
