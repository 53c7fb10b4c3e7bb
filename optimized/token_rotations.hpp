// The rotations of a token's pairs. They are found once and applied to all heads of the token, whatever angles an
// encoding has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "optimized/dispatch.hpp"
#include "optimized/rotations.hpp"
#include "optimized/views.hpp"

namespace assay::optimized {

/// Tells which features are the coordinates of a pair.
struct rotary_pairs {
  std::size_t count;
  bool half_split;
  [[nodiscard]] std::size_t first(std::size_t t) const { return half_split ? t : 2 * t; }
  [[nodiscard]] std::size_t second(std::size_t t) const { return half_split ? t + count : 2 * t + 1; }
};

/// Turns the heads of one token by the token's rotations, or back.
///
///     token_turn<float> turn(process_execution(), {d / 2, true}, theta);
///     turn.find(131071.0);
///     turn(dense<const float, 2>(q.data(), {heads, d}), dense<float, 2>(rotated.data(), {heads, d}));
template <class Real>
class token_turn {
 public:
  token_turn(const execution& on, const rotary_pairs& pairs, const prepared_frequencies& theta)
      : kernels_(*on.kernels), pairs_(pairs), theta_(theta), found_(pairs.count, sizeof(Real) == sizeof(double)) {}

  /// Finds the angles of the token at a position.
  void find(double position) { theta_.find(kernels_, position, found_); }
  void turn_back() {
    for (double& s : found_.sine) s = -s;
    for (double& s : found_.sine_low) s = -s;
  }
  /// Turns x, [heads, features], and writes the result to y. Features that belong to no pair are copied. Bound:
  /// kernels/turn.ipp.
  void operator()(const view<const Real, 2>& x, const view<Real, 2>& y) {
    const std::size_t heads = x.shape[0], features = x.shape[1];
    const auto dense_heads = static_cast<std::ptrdiff_t>(features);
    if (x.has_unit_rows() && y.has_unit_rows() &&
        (heads == 1 || (x.stride[0] == dense_heads && y.stride[0] == dense_heads)))
      return turn(heads, features, x.data, y.data);
    row_.resize(2 * features);
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::size_t k = 0; k < features; ++k) row_[k] = *x.at(head, k);
      turn(1, features, row_.data(), row_.data() + features);
      for (std::size_t k = 0; k < features; ++k) *y.at(head, k) = row_[features + k];
    }
  }

 private:
  void turn(std::size_t heads, std::size_t features, const Real* x, Real* y) const {
    kernels_for<Real>(kernels_).turn({heads, features, pairs_.count, pairs_.half_split, found_.cosine.data(),
                                      found_.sine.data(), found_.cosine_low.data(), found_.sine_low.data(), x, y});
  }
  const kernel_table& kernels_;
  rotary_pairs pairs_;
  const prepared_frequencies& theta_;
  rotations found_;
  std::vector<Real> row_;
};

/// The number of tokens of a block. Threads share the blocks of all rows.
inline constexpr std::size_t tokens_of_block = 16;

inline std::size_t blocks_of_tokens(std::size_t count) { return (count + tokens_of_block - 1) / tokens_of_block; }

/// For each block of tokens of [rows, tokens], on one thread: calls begin(block), which returns `visit`, and then
/// visit(row, token) for the tokens of the block in order.
///
///     for_each_token_block(on, B, n, [&](std::size_t) {
///       return [&](std::size_t row, std::size_t token) { *norm.at(row, token) = norm_of(part(in, row, token)); };
///     });
template <class Begin>
void for_each_token_block(const execution& on, std::size_t rows, std::size_t tokens, Begin begin) {
  const std::size_t count = rows * tokens;
  for_each_task(on.threads, blocks_of_tokens(count), [&](std::size_t block) {
    auto visit = begin(block);
    for (std::size_t i = block * tokens_of_block; i < std::min((block + 1) * tokens_of_block, count); ++i)
      visit(i / tokens, i % tokens);
  });
}

/// Turns x, [B, n, heads, features], and writes the result to y. The angle of pair t of a token is the token's
/// position, [B, n], times frequency t, or minus this if `back` is true. All results are independent.
///
///     turn_tokens<float>(on, {d / 2, true}, theta, dense<const double, 2>(position.data(), {B, n}), false,
///                        dense<const float, 4>(q.data(), {B, n, heads, d}),
///                        dense<float, 4>(rotated.data(), {B, n, heads, d}));
template <class Real>
void turn_tokens(const execution& on, const rotary_pairs& pairs, const prepared_frequencies& theta,
                 const view<const double, 2>& position, bool back, const view<const Real, 4>& x,
                 const view<Real, 4>& y) {
  for_each_token_block(on, x.shape[0], x.shape[1], [&](std::size_t) {
    return [&, turn = token_turn<Real>(on, pairs, theta)](std::size_t row, std::size_t token) mutable {
      turn.find(*position.at(row, token));
      if (back) turn.turn_back();
      turn(part(x, row, token), part(y, row, token));
    };
  });
}

}  // namespace assay::optimized
