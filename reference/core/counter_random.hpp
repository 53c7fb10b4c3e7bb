// Pseudo-random numbers that are the same on every compiler and processor: a counter-based generator
// (the finaliser of SplitMix64; Steele, Lea and Flood 2014) and exact operations only, no libm.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::core {

class counter_random {
 public:
  explicit counter_random(std::uint64_t seed) : seed_(mix(seed)) {}

  std::uint64_t bits() { return mix(seed_ + 0x9e3779b97f4a7c15u * ++counter_); }
  /// Uniform on {0, ..., count - 1}; the bias of the modulus is below count / 2^64.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(bits() % count); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  /// Uniform on the multiples of 2^-53 in [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// The sum of twelve uniforms less 6: mean 0, variance 1, |x| < 6.
  double normal() {
    double sum = -6.0;
    for (std::uint64_t i = 0; i < numbers_of_normal; ++i) sum += uniform();
    return sum;
  }
  /// How often bits() was called, by the other functions too.
  [[nodiscard]] std::uint64_t drawn() const { return counter_; }
  /// The generator as it is after `count` more calls of bits().
  [[nodiscard]] counter_random after(std::uint64_t count) const {
    counter_random later = *this;
    later.counter_ += count;
    return later;
  }
  /// The generator as it is after `count` more calls of normal().
  [[nodiscard]] counter_random after_normals(std::uint64_t count) const { return after(numbers_of_normal * count); }
  /// +1 or -1.
  double sign() { return bits() >> 63 ? -1.0 : 1.0; }

 private:
  static constexpr std::uint64_t numbers_of_normal = 12;
  static constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  std::uint64_t seed_, counter_ = 0;
};

}  // namespace assay::core
