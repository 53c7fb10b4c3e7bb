// Sums over all segments of a lane, D_ij = a_{j+1} + ... + a_i for j <= i, each algorithm written once for every
// reading. `out` is an n x n block of a row-major array, row i the later end; what stands above its diagonal is
// left as it was. Tokens count from 1 in the formulas.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "reference/readings/adjoint.hpp"

namespace assay::reference {

/// Sums and their adjoint (below) as one block of a tape.
template <class R, class Sums, class Adjoint>
void taped_segment_sums(const_lane<adjoint<R>> a, adjoint<R>* out, Sums sums, Adjoint pull) {
  const std::size_t n = a.size();
  std::vector<R> plain(n), block;
  std::vector<typename tape<R>::node> from(n);
  for (std::size_t i = 0; i < n; ++i) plain[i] = a[i].number, from[i] = a[i].node;
  for (std::size_t k = 0; k < n * n; ++k) block.push_back(out[k].number);
  sums({plain.data(), 1, n}, block.data());
  const auto first = tape<R>::current().add_block(n * n, [=](tape<R>& graph, std::span<const cotangent<R>> g) {
    std::vector<R> given, grad(n);
    for (const cotangent<R>& x : g) given.push_back(x.by_magnitude());
    pull(given.data(), {grad.data(), 1, n});
    for (std::size_t i = 0; i < n; ++i) graph.put(from[i], cotangent<R>(grad[i]));
  });
  for (std::size_t k = 0; k < n * n; ++k) out[k] = adjoint<R>(block[k], first + static_cast<unsigned>(k));
}

template <class R>
void segment_sums_adjoint(const R* grad, lane<R> grad_a);
template <class R>
void segment_sums_adjoint_by_suffix(const R* grad, lane<R> grad_a);

/// As defined, row by row: D_ii = 0, D_ij = D_{i-1,j} + a_i. An a_i = -inf reaches the segments across it alone.
/// Error: at most (i - j - 1) u |D_ij| in any order where all a have one sign (Higham 2002, section 4.2). The allowance
/// reading charges the partial sums from the first term on or those from the last one on, whichever are more: together
/// they are at least (i - j - 1) |D_ij|, so that a slack of 2 covers every order.
template <class R>
void segment_sums(const_lane<R> a, R* out) {
  if constexpr (is_adjoint<R>) {
    using number = typename R::underlying;
    return taped_segment_sums<number>(a, out, segment_sums<number>, segment_sums_adjoint<number>);
  }
  const std::size_t n = a.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) out[i * n + j] = out[(i - 1) * n + j] + a[i];
    out[i * n + i] = R(0.0);
  }
  if constexpr (std::is_same_v<R, tracked>)
    for (std::size_t i = 0; i < n; ++i) {
      R from_last(0.0);
      for (std::size_t j = i; j-- > 0;) {
        from_last = from_last + a[j + 1];
        out[i * n + j].error = std::max(out[i * n + j].error, from_last.error);
      }
    }
}

/// C_i - C_j, C the inclusive prefix sums of a lane. Both ends share the roundings of the additions up to j where
/// the sums are formed one after another, and none of them where they are formed by blocks; the allowance reading
/// charges whichever is more. No answer from the first a = -inf on (NaN).
template <class R>
class prefix_differences {
 public:
  explicit prefix_differences(const_lane<R> a) {
    for (std::size_t i = 0; i < a.size(); ++i) prefix_.push_back(i == 0 ? a[0] : prefix_.back() + a[i]);
  }
  [[nodiscard]] R between(std::size_t i, std::size_t j) const { return prefix_[i] - prefix_[j]; }

 private:
  std::vector<R> prefix_;
};

/// sum of |C_k| over j < k <= i for sums one after another; ceil(log2(i + 1)) (|C_i| + |C_j|) for sums by blocks.
template <>
class prefix_differences<tracked> {
  using number = tracked;

 public:
  explicit prefix_differences(const_lane<number> a) {
    double sum = 0, rounding = 0, inherited = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum += a[i].number;
      rounding += finite_magnitude(sum);
      inherited += a[i].error;
      prefix_.push_back({sum, rounding, inherited});
    }
  }
  [[nodiscard]] number between(std::size_t i, std::size_t j) const {
    const entry &end = prefix_[i], &start = prefix_[j];
    const double difference = end.sum - start.sum, depth = std::ceil(std::log2(static_cast<double>(i) + 2.0));
    const double by_blocks = depth * (finite_magnitude(end.sum) + finite_magnitude(start.sum));
    return {difference, end.inherited - start.inherited + std::max(end.rounding - start.rounding, by_blocks) +
                            finite_magnitude(difference)};
  }

 private:
  struct entry {
    double sum, rounding, inherited;
  };
  std::vector<entry> prefix_;
};

/// As published with prefix sums: D_ij = C_i - C_j.
template <class R>
void segment_sums_by_prefix(const_lane<R> a, R* out) {
  if constexpr (is_adjoint<R>) {
    using number = typename R::underlying;
    return taped_segment_sums<number>(a, out, segment_sums_by_prefix<number>, segment_sums_adjoint_by_suffix<number>);
  }
  const std::size_t n = a.size();
  const prefix_differences<R> sums(a);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) out[i * n + j] = j == i ? R(0.0) : sums.between(i, j);
}

/// The error bound of differences of prefix sums. They have no answer behind an a = -inf, but their adjoint, which is
/// linear, may stand beside sums that have.
template <class R>
void law_of_prefix_differences(const_lane<R> a, R* out) {
  if constexpr (is_adjoint<R>) {
    using number = typename R::underlying;
    return taped_segment_sums<number>(a, out, law_of_prefix_differences<number>,
                                      segment_sums_adjoint_by_suffix<number>);
  }
  bool resets = false;
  for (std::size_t i = 0; i < a.size(); ++i) resets = resets || is_minus_infinity(a[i]);
  (resets ? segment_sums<R> : segment_sums_by_prefix<R>)(a, out);
}

/// The adjoint of the sums: grad_a_l = sum of grad_D_ij over i >= l > j. D is linear in a, so nothing else enters, and
/// a_1, which stands in no segment, has the gradient 0. `grad` is n x n; its entries above the diagonal are not read.
/// Error: programs add within the queries, or within the keys, and then these sums, each in any order.
template <class R>
void segment_sums_adjoint(const R* grad, lane<R> grad_a) {
  const std::size_t n = grad_a.size();
  std::vector<accumulator<R>> earlier_keys(n);  // by query: the cotangents of keys before l
  for (std::size_t l = 0; l < n; ++l) {
    accumulator<R> sum;
    for (std::size_t i = l; i < n; ++i) {
      if constexpr (std::is_same_v<R, tracked>)
        sum.add(earlier_keys[i].total());
      else
        sum.add(earlier_keys[i]);
    }
    grad_a[l] = sum.total();
    for (std::size_t i = l; i < n; ++i) earlier_keys[i].add(by_magnitude(grad[i * n + l]));
  }
}

/// The same by suffix sums of row sums less column sums, as autograd has it behind a cumsum: what lies in both
/// cancels, and leaves its roundings. Error: those of the sums of each row and column, in any order, once in all suffix
/// sums behind it, and one of each suffix sum: of what does not cancel.
template <class R>
void segment_sums_adjoint_by_suffix(const R* grad, lane<R> grad_a) {
  const std::size_t n = grad_a.size();
  if constexpr (std::is_same_v<R, tracked>) {
    segment_sums_adjoint<R>(grad, grad_a);
    double error = 0.0;
    for (std::size_t l = n; l-- > 0;) {
      accumulator<R> row, column;
      for (std::size_t j = 0; j <= l; ++j) row.add(by_magnitude(grad[l * n + j]));
      for (std::size_t r = l; r < n; ++r) column.add(by_magnitude(grad[r * n + l]));
      const R along = row.total(), down = column.total();
      error += along.error + down.error + finite_magnitude(along.number) + finite_magnitude(down.number) +
               finite_magnitude(grad_a[l].number);
      grad_a[l].error = error;
    }
    return;
  }
  R behind(0.0);
  for (std::size_t l = n; l-- > 0;) {
    accumulator<R> row, column;
    for (std::size_t j = 0; j <= l; ++j) row.add(by_magnitude(grad[l * n + j]));
    for (std::size_t r = l; r < n; ++r) column.add(by_magnitude(grad[r * n + l]));
    grad_a[l] = behind = behind + (row.total() - column.total());
  }
}

}  // namespace assay::reference
