// The sketch of an allowance: a double, and the first-order effect of roundings on it in several random experiments.
//
// To first order the error of an output is the sum of slope * roundoff * xi over all rounded numbers, |xi| <= 1, and so
// at most sum |slope| roundoff. The reading `tracked` bounds that sum number by number, and loses the cancellation of
// slopes with different signs. Example: for S <- S - b k (S^T k - v)^T, a delta rule, it lets errors grow with |1| + |b
// k k^T| at each step, where they really shrink. Here every rounding draws a number from Cauchy's distribution, whose
// width is the charge of `tracked` for it, and slopes carry the number on with their signs. The sum of such numbers has
// a Cauchy distribution again, with the width sum |slope| roundoff. The median of the magnitudes gives this width
// (Indyk 2006, Stable distributions, pseudorandom generators, embeddings and data stream computation). Changes that are
// no roundings (a branch that roundings decide, another number that is also right) are drawn in the same way.
//
// A rounding acts on the number as earlier roundings changed it. So each rounding also has an error of u times that
// change. This is a second-order error, and it is the only one where the first order cancels: (a + b) - a with an `a`
// that should be 0 has an error of u times the error of `a`, and keeps no digit of a smaller b.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/algorithms/kinks.hpp"
#include "reference/primitives/all.hpp"
#include "reference/primitives/constants.hpp"
#include "reference/primitives/error_function.hpp"
#include "reference/primitives/hyperbolic.hpp"
#include "reference/readings/stages.hpp"
#include "reference/readings/tracked.hpp"

namespace assay::reference {

struct sketched {
  static constexpr std::size_t experiments = 16;
  using changes = std::array<double, experiments>;

  double number = 0.0;
  bool is_exact = true;
  changes change{};  ///< the change in each experiment; 0 where the number is exact

  sketched() = default;
  explicit sketched(double x) : number(x) {}
  static sketched from_integer(double x) { return made(tracked::from_integer(x)); }
  static sketched from_double(double x) { return made(tracked::from_double(x)); }

  /// Starts the experiments of this thread again, with other random numbers.
  static void seed(std::uint64_t seed);

  /// The result of a function: `own` is the result of `tracked` for exact operands; each operand has a slope.
  template <class... Slopes>
  static sketched made(const tracked& own, const Slopes&... slopes) {
    sketched r(own.number);
    if (!std::isfinite(r.number)) return r;
    (slopes.add_to(r), ...);
    r.add_noise(own.error * tracked::u());
    return r;
  }
  struct along {
    const sketched& x;
    double slope;
    void add_to(sketched& r) const {
      if (x.is_exact || slope == 0.0) return;
      r.is_exact = false;
      for (std::size_t k = 0; k < experiments; ++k) r.change[k] += slope * x.change[k];
    }
  };
  /// Adds a rounding of this width, and of u times the change by earlier roundings; nothing where the width is 0.
  void add_noise(double width);

  /// The number without its changes. A number that is not exact counts as rounded, even where its value needs no
  /// rounding.
  [[nodiscard]] tracked alone() const { return {number, is_exact ? 0.0 : std::numeric_limits<double>::min()}; }
  /// The largest change in the experiments.
  [[nodiscard]] double reach() const {
    double most = 0.0;
    for (const double x : change) most = std::max(most, std::fabs(x));
    return most;
  }

  [[nodiscard]] const sketched& in_units(double) const { return *this; }
  [[nodiscard]] sketched rounded_once() const { return made(alone().rounded_once(), along{*this, 1.0}); }
  [[nodiscard]] bool is_exact_zero() const { return is_exact && number == 0.0; }

  friend sketched operator+(const sketched& x, const sketched& y) {
    return made(x.alone() + y.alone(), along{x, 1.0}, along{y, 1.0});
  }
  friend sketched operator-(const sketched& x, const sketched& y) {
    return made(x.alone() - y.alone(), along{x, 1.0}, along{y, -1.0});
  }
  friend sketched operator-(const sketched& x) { return made(tracked(-x.number), along{x, -1.0}); }
  friend sketched operator*(const sketched& x, const sketched& y) {
    return made(x.alone() * y.alone(), along{x, y.number}, along{y, x.number});
  }
  friend sketched operator/(const sketched& x, const sketched& y) {
    const tracked r = x.alone() / y.alone();
    return made(r, along{x, 1.0 / y.number}, along{y, -r.number / y.number});
  }

  friend double to_double(const sketched& x) { return x.number; }
  friend bool is_minus_infinity(const sketched& x) { return std::isinf(x.number) && x.number < 0.0; }
  friend sketched by_magnitude(const sketched& x) {
    return made(tracked(std::fabs(x.number)), along{x, x.number < 0.0 ? -1.0 : 1.0});
  }
  /// Both ways are right, and a program may have taken either.
  template <class Other>
  friend sketched covering(const sketched& x, Other other) {
    return made(tracked(x.number), along{x, 1.0}, along{other(), 1.0});
  }
  friend sketched right_as_well(const sketched& x, const sketched& y) {
    sketched r = covering(x, [&] { return y; });
    if (std::isfinite(x.number - y.number)) r.add_noise(std::fabs(x.number - y.number) / class_slack);
    return r;
  }
};

/// A term adds its changes to the sum. The roundings of the whole sum are drawn once, for its total.
template <>
class accumulator<sketched> {
 public:
  void add(const sketched& x) {
    own_.add(x.alone());
    sketched::along{x, 1.0}.add_to(inherited_);
  }
  void add_product(const sketched& x, const sketched& y) {
    own_.add_product(x.alone(), y.alone());
    sketched::along{x, y.number}.add_to(inherited_);
    sketched::along{y, x.number}.add_to(inherited_);
  }
  [[nodiscard]] sketched total() const { return made(own_.total()); }
  [[nodiscard]] sketched total_by(double roundings) const { return made(own_.total_by(roundings)); }
  [[nodiscard]] sketched total_of_terms(double additions) const { return made(own_.total_of_terms(additions)); }
  [[nodiscard]] accumulator in_units(double) const { return *this; }

 private:
  [[nodiscard]] sketched made(const tracked& own) const {
    return sketched::made(own, sketched::along{inherited_, 1.0});
  }
  accumulator<tracked> own_{};
  sketched inherited_{};
};

template <>
inline sketched pi<sketched>() {
  return sketched::made(pi<tracked>());
}

/// Indeterminate where roundings may decide the comparison.
boost::tribool less(const sketched& x, const sketched& y);
sketched either(boost::tribool condition, const sketched& x, const sketched& y);
sketched larger(const sketched& x, const sketched& y);
sketched floor(const sketched& x);
sketched exp(const sketched& x);
sketched log(const sketched& x);
sketched log1p(const sketched& x);
sketched sin(const sketched& x);
sketched cos(const sketched& x);
sketched tanh(const sketched& x);
sketched erf(const sketched& x);
sketched entire_cosine_integral(const sketched& x);
sketched sigmoid(const sketched& x);
sketched softplus(const sketched& x);
sketched log_sigmoid(const sketched& x);
sketched log_sum_exp(const sketched& x, const sketched& y);
sketched power(const sketched& x, rational e);
sketched pow(const sketched& x, const sketched& e);

}  // namespace assay::reference
