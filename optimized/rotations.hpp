// Cosines and sines of the angles m theta of one position m and many frequencies theta.
//
// The frequencies are prepared once, in quarter turns: theta 2 / pi as a sum of 26 bits, 26 bits and a double. Then the
// nearest integer of m theta 2 / pi is all that reduces an angle (kernels/reduction.ipp), for all frequencies at once
// on the active instruction set. Angles of 2^40 quarter turns or more, positions below 2^-400, frequencies below 2^-499
// and what is not finite are left to the C library and to MPFR, one by one.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "optimized/angles.hpp"
#include "optimized/kernel_table.hpp"
#include "optimized/views.hpp"

namespace assay::optimized {

/// cos and sin of many angles, where `split` each in two parts: high ones of 26 bits, so that products with 26 bits of
/// another double are exact, and what is left.
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
  /// The frequency, rounded.
  [[nodiscard]] double operator[](std::size_t t) const { return theta_[t].high; }

  /// cos and sin of position * theta for every finite position and theta with a finite product, exactly 1 and 0 where
  /// position or theta is 0; NaN otherwise. Where `found` is split, each is within 2^-78 + 2^-105 |position * theta|,
  /// else within 2^-53 (measured: kernels/rotation.ipp), and within 2^-52 of what is left to the C library.
  /// Precondition: `found` has size() elements.
  void find(const kernel_table& kernels, double position, rotations& found) const;

 private:
  std::vector<frequency> theta_;
  std::vector<double> high_, middle_, low_;  ///< quarter turns
};

/// Frequencies that someone gives, as they are.
template <class Real>
prepared_frequencies given_frequencies(const view<const Real, 1>& theta) {
  std::vector<frequency> all(theta.shape[0]);
  for (std::size_t t = 0; t < all.size(); ++t) all[t].high = static_cast<double>(*theta.at(t));
  return prepared_frequencies(std::move(all));
}

}  // namespace assay::optimized
