// The plain arithmetic of the working format (working_format.hpp): every operation and every primitive is rounded to
// nearest.
//
// Operations are computed in double and rounded once more. For f32, f16 and bf16 that double rounding is
// harmless for + - * / (Figueroa 1995: 53 >= 2p + 2); a primitive gains at most 2^-53 of its result.
//
// Where the formats are `at_random`, a result goes to one of its two neighbours, more often to the nearer one, so that
// the mean is right (Parker 1997, Monte Carlo Arithmetic); reference/scatter.hpp gives the purpose. f64 is replaced by
// numbers of coarse_precision bits, since a double cannot tell what it has lost.
#pragma once

#include <bit>
#include <cmath>

#include "reference/core/counter_random.hpp"
#include "reference/core/dtype.hpp"
#include "reference/readings/reading.hpp"
#include "reference/readings/working_format.hpp"

namespace assay::reference {

/// The precision of the format that replaces f64 where roundings are at random.
inline constexpr int coarse_precision = 40;

/// Rounds to the working format of this thread, or to the format of its sums.
class rounding_to {
 public:
  explicit rounding_to(const working_format& to)
      : to_(&detail::format_of(to.type)),
        seed_(detail::seed_of_roundings.value_or(0)),
        is_at_random_(detail::seed_of_roundings) {}
  double operator()(double x) const {
    if (is_at_random_) [[unlikely]]
      return at_random(x);
    return to_->type == core::dtype::f64   ? x
           : to_->type == core::dtype::f32 ? static_cast<double>(static_cast<float>(x))
                                           : core::round_to(to_->type, x);
  }

 private:
  /// One of the neighbours of x. The same x and seed give the same neighbour: a number that is computed twice is
  /// rounded alike. Subnormal numbers, and numbers beyond the largest, are rounded to nearest.
  double at_random(double x) const {
    if (!(std::fabs(x) >= to_->smallest_normal) || !(std::fabs(x) < to_->largest)) return core::round_to(to_->type, x);
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const int precision = to_->type == core::dtype::f64 ? coarse_precision : to_->precision;
    const std::uint64_t lost = (std::uint64_t{1} << (53 - precision)) - 1;
    // A number of the format stays as it is: the sum carries nothing. The sign is left out, so -x is rounded as x is.
    const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
    return std::bit_cast<double>((bits + (core::counter_random(magnitude + seed_).bits() & lost)) & ~lost);
  }

  const working_format* to_;
  std::uint64_t seed_;
  bool is_at_random_;
};

struct rounded {
  double number = 0.0;

  rounded() = default;
  explicit rounded(double x) : number(round(x)) {}

  static rounded index(double x) {
    rounded exact;
    exact.number = x;
    return exact;
  }
  static double round(double x) { return rounding_to(arithmetic())(x); }

  /// Errors are not counted (stages.hpp).
  [[nodiscard]] rounded in_units(double) const { return *this; }
  /// The number, rounded to the working format.
  [[nodiscard]] rounded rounded_once() const { return rounded(number); }

  friend rounded operator+(rounded x, rounded y) { return rounded(x.number + y.number); }
  friend rounded operator-(rounded x, rounded y) { return rounded(x.number - y.number); }
  friend rounded operator*(rounded x, rounded y) { return rounded(x.number * y.number); }
  friend rounded operator/(rounded x, rounded y) { return rounded(x.number / y.number); }
  /// Exact, also for a number of a wider stage.
  friend rounded operator-(rounded x) {
    x.number = -x.number;
    return x;
  }

  /// Every other random run takes the other right answer.
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
  void add(rounded x) { sum_ = to_(sum_ + x.number); }
  void add_product(rounded x, rounded y) { sum_ = to_(sum_ + to_(x.number * y.number)); }
  [[nodiscard]] rounded total() const { return rounded(sum_); }
  [[nodiscard]] accumulator in_units(double) const { return *this; }

 private:
  double sum_ = 0.0;
  rounding_to to_{arithmetic_of_sums()};
};

}  // namespace assay::reference
