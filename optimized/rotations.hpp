// Cosines and sines of the angles m theta of one position m and many frequencies theta.
//
// The frequencies are prepared once, in quarter turns: theta 2 / pi is the sum of a number of 26 bits, another number
// of 26 bits and a double. To reduce an angle, it is then enough to subtract the nearest integer of m theta 2 / pi
// (kernels/reduction.ipp). The active instruction set does this for all frequencies at once. The C library and MPFR
// handle some cases one by one: angles of 2^40 quarter turns or more, positions below 2^-400, frequencies below 2^-499,
// and numbers that are not finite.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "optimized/angles.hpp"
#include "optimized/kernel_table.hpp"
#include "optimized/views.hpp"

namespace assay::optimized {

/// cos and sin of many angles. With `split`, each has two parts: a high part of 26 bits, whose products with 26 bits of
/// another double are exact, and the rest.
struct rotations {
  explicit rotations(std::size_t count, bool split)
      : cosine(count), sine(count), cosine_low(split ? count : 0), sine_low(split ? count : 0) {}
  std::vector<double> cosine, sine, cosine_low, sine_low;
};

/// The frequencies of one call.
class prepared_frequencies {
 public:
  explicit prepared_frequencies(std::vector<frequency> theta);

  [[nodiscard]] std::size_t size() const { return theta_.size(); }
  /// Returns the rounded frequency.
  [[nodiscard]] double operator[](std::size_t t) const { return theta_[t].high; }

  /// Computes cos and sin of position * theta for every finite position and theta whose product is finite. They are
  /// exactly 1 and 0 if position or theta is 0, and NaN if a number or the product is not finite. If `found` is split,
  /// the error of each is at most 2^-78 + 2^-105 |position * theta|. Otherwise it is at most 2^-53 (measured:
  /// kernels/rotation.ipp), and at most 2^-52 for angles that the C library computes. Precondition: `found` has size()
  /// elements.
  ///
  ///     rotations found(theta.size(), false);
  ///     theta.find(active_kernels(), 131071.0, found);
  ///     const double cosine = found.cosine[0], sine = found.sine[0];
  void find(const kernel_table& kernels, double position, rotations& found) const;

 private:
  std::vector<frequency> theta_;
  std::vector<double> high_, middle_, low_;  ///< in quarter turns
};

/// Prepares given frequencies without any change.
///
///     const prepared_frequencies theta = given_frequencies(dense<const float, 1>(inv_freq.data(), {d / 2}));
template <class Real>
prepared_frequencies given_frequencies(const view<const Real, 1>& theta) {
  std::vector<frequency> all(theta.shape[0]);
  for (std::size_t t = 0; t < all.size(); ++t) all[t].high = static_cast<double>(*theta.at(t));
  return prepared_frequencies(std::move(all));
}

}  // namespace assay::optimized
