// The plain arithmetic of the working format (working_format.hpp): every operation and every primitive is rounded to
// nearest.
//
// Operations are computed in double and rounded once more. For f32, f16 and bf16 that double rounding is
// harmless for + - * / (Figueroa 1995: 53 >= 2p + 2); a primitive gains at most 2^-53 of its result.
//
// Where the formats are `at_random`, a result goes to one of its two neighbours, to the nearer one with the greater
// chance, so that the mean is right (Parker 1997, Monte Carlo Arithmetic): reference/scatter.hpp tells what that is
// for. f64 is replaced by numbers of coarse_precision bits, since a double cannot tell what it has lost.
#pragma once

#include <cmath>

#include "reference/core/dtype.hpp"
#include "reference/readings/reading.hpp"
#include "reference/readings/working_format.hpp"

namespace assay::reference {

/// Of what stands for f64 where roundings are at random.
inline constexpr int coarse_precision = 40;
/// One of the neighbours of x in the working format. The same of the same x and seed: what is computed twice is rounded
/// alike. To nearest among its subnormal numbers and beyond its largest.
double rounded_at_random(double x, std::uint64_t seed);

struct rounded {
  double number = 0.0;

  rounded() = default;
  explicit rounded(double x) : number(round(x)) {}

  static rounded index(double x) {
    rounded exact;
    exact.number = x;
    return exact;
  }
  static double round(double x) {
    if (detail::seed_of_roundings) [[unlikely]]
      return rounded_at_random(x, *detail::seed_of_roundings);
    switch (arithmetic().type) {
      case core::dtype::f64:
        return x;
      case core::dtype::f32:
        return static_cast<float>(x);
      default:
        return core::round_to(arithmetic().type, x);
    }
  }

  /// Errors are not counted (stages.hpp).
  [[nodiscard]] rounded in_units(double) const { return *this; }
  /// Rounded to the working format.
  [[nodiscard]] rounded rounded_once() const { return rounded(number); }

  friend rounded operator+(rounded x, rounded y) { return rounded(x.number + y.number); }
  friend rounded operator-(rounded x, rounded y) { return rounded(x.number - y.number); }
  friend rounded operator*(rounded x, rounded y) { return rounded(x.number * y.number); }
  friend rounded operator/(rounded x, rounded y) { return rounded(x.number / y.number); }
  /// Exact, also of a number of a wider stage.
  friend rounded operator-(rounded x) {
    x.number = -x.number;
    return x;
  }

  /// Of runs at random every other one takes what else is right.
  static bool takes_other_ways() { return detail::seed_of_roundings && *detail::seed_of_roundings % 2 == 1; }
  template <class Other>
  friend rounded covering(rounded x, Other other) {
    return takes_other_ways() ? other() : x;
  }
  friend rounded exp_of_roundings(rounded x) { return exp(x); }
  friend double to_double(rounded x) { return x.number; }
  friend bool is_minus_infinity(rounded x) { return std::isinf(x.number) && x.number < 0.0; }
};

/// Terms are added up in the format that sums have; the total is rounded to the working format.
template <>
class accumulator<rounded> {
 public:
  void add(rounded x) {
    const switched_to sums(arithmetic_of_sums());
    sum_ = sum_ + x;
  }
  void add_product(rounded x, rounded y) {
    const switched_to sums(arithmetic_of_sums());
    sum_ = sum_ + x * y;
  }
  void add(const accumulator& other) { add(other.sum_); }
  [[nodiscard]] rounded total() const { return sum_.rounded_once(); }
  [[nodiscard]] accumulator in_units(double) const { return *this; }

 private:
  rounded sum_{};
};

}  // namespace assay::reference
