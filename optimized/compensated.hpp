// Sums in double that keep the rounding errors of their additions (Knuth 1998, section 4.2.2, theorem B).
#pragma once

namespace assay::optimized {

/// A sum and the rounding errors of its additions.
struct compensated {
  double high = 0, low = 0;
  void add(double x) {
    const double sum = high + x, added = sum - high;
    low += (high - (sum - added)) + (x - added);
    high = sum;
  }
  /// Adds the sum of other terms.
  void add(const compensated& part) {
    add(part.high);
    low += part.low;
  }
  [[nodiscard]] double total() const {
    const double corrected = high + low;
    return high - high == 0.0 ? corrected : high;
  }
};

}  // namespace assay::optimized
