// The rotations of a token's pairs, found once and applied to all its heads, whatever angles an encoding has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "optimized/dispatch.hpp"
#include "optimized/rotations.hpp"

namespace assay::optimized {

/// [tokens, heads, features], and where the coordinates of a pair stand.
struct rotary_shape {
  std::size_t tokens, heads, features, pairs;  ///< tokens of all rows
  bool half_split;
  [[nodiscard]] std::size_t first(std::size_t t) const { return half_split ? t : 2 * t; }
  [[nodiscard]] std::size_t second(std::size_t t) const { return half_split ? t + pairs : 2 * t + 1; }
  [[nodiscard]] std::size_t blocks() const { return (tokens + block_tokens - 1) / block_tokens; }
  static constexpr std::size_t block_tokens = 16;
};

/// y = x, [tokens, heads, features], each pair t of token i turned by positions[i] times frequency t, or by minus that
/// where `back`. What is no pair is copied. Tokens are shared out to threads in blocks; all results are independent.
/// Bound: kernels/turn.ipp.
template <class Real>
void turn_tokens(const rotary_shape& shape, const std::vector<double>& positions, const prepared_frequencies& theta,
                 bool back, const Real* x, Real* y) {
  const auto& kernels = kernels_for<Real>(active_kernels());
  for_each_task(shape.blocks(), [&](std::size_t block) {
    rotations found(shape.pairs, sizeof(Real) == sizeof(double));
    const std::size_t end = std::min((block + 1) * rotary_shape::block_tokens, shape.tokens);
    for (std::size_t i = block * rotary_shape::block_tokens; i < end; ++i) {
      theta.find(positions[i], found);
      if (back) {
        for (double& s : found.sine) s = -s;
        for (double& s : found.sine_low) s = -s;
      }
      const std::size_t at = i * shape.heads * shape.features;
      kernels.turn({shape.heads, shape.features, shape.pairs, shape.half_split, found.cosine.data(), found.sine.data(),
                    found.cosine_low.data(), found.sine_low.data(), x + at, y + at});
    }
  });
}

}  // namespace assay::optimized
