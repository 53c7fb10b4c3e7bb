// The rotations of a token's pairs, found once and applied to all its heads, whatever angles an encoding has.
//
// f32 multiplies and adds in f64. f64 multiplies the first 26 bits of its factors, which is exact, and what is left of
// them apart: each result is rounded about once, however large x is beside it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "optimized/split_rotation.hpp"

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

/// The rotations of one token.
template <class Real>
class token_rotations {
 public:
  explicit token_rotations(std::size_t pairs) : cosine_(pairs), sine_(pairs), cosine_low_(pairs), sine_low_(pairs) {}

  void find(double position, const std::vector<frequency>& frequencies) {
    for (std::size_t t = 0; t < frequencies.size(); ++t)
      if constexpr (sizeof(Real) == sizeof(float)) {
        const rotation r = rotation_by(position, frequencies[t]);
        cosine_[t] = r.cosine;
        sine_[t] = r.sine;
      } else {
        const split_rotation r = split_rotation_by(position, frequencies[t]);
        cosine_[t] = r.cosine_high;
        sine_[t] = r.sine_high;
        cosine_low_[t] = r.cosine_low;
        sine_low_[t] = r.sine_low;
      }
  }
  /// By minus the angles.
  void reverse() {
    for (double& x : sine_) x = -x;
    for (double& x : sine_low_) x = -x;
  }
  /// The pairs of one head; what does not rotate is copied.
  void turn(const rotary_shape& shape, const Real* x, Real* y) const {
    for (std::size_t t = 0; t < shape.pairs; ++t) {
      const double first = static_cast<double>(x[shape.first(t)]), second = static_cast<double>(x[shape.second(t)]);
      const double c = cosine_[t], s = sine_[t], c_low = cosine_low_[t], s_low = sine_low_[t];
      y[shape.first(t)] = combined(first, c, c_low, -second, s, s_low);
      y[shape.second(t)] = combined(first, s, s_low, second, c, c_low);
    }
    std::copy(x + 2 * shape.pairs, x + shape.features, y + 2 * shape.pairs);
  }

 private:
  // a p + b q
  static Real combined(double a, double p, double p_low, double b, double q, double q_low) {
    if constexpr (sizeof(Real) == sizeof(float)) {
      return static_cast<Real>(a * p + b * q);
    } else {
      const double a_high = first_bits(a), b_high = first_bits(b);
      const double x = a_high * p, y = b_high * q, sum = x + y, y_added = sum - x;
      const double error = (x - (sum - y_added)) + (y - y_added);
      const double low = ((a - a_high) * p + (b - b_high) * q) + (a * p_low + b * q_low) + error;
      const double corrected = sum + low;
      return sum - sum == 0.0 ? corrected : sum;  // an infinite sum has no remainder
    }
  }
  std::vector<double> cosine_, sine_, cosine_low_, sine_low_;
};

}  // namespace assay::optimized
