// The fast proof reading: a number and a rigorous radius, in double or in two-double arithmetic. The truth lies no
// further from the centre than the radius (van der Hoeven 2009, "Ball arithmetic"; Johansson 2017, "Arb").
//
// Every operation adds its rounding error, which two_double.hpp and proved_functions.hpp bound. It multiplies the radii
// of its operands by slopes that hold over the whole ball, not to first order. Nothing is guessed: where an operation
// cannot tell (a divisor around 0, an overflow), the result is *unknown*, with an infinite radius, and the intervals of
// enclosure.hpp decide.
//
// A ball with radius 0 is exact; infinities and NaN have radius 0. For some balls it is known that the truth lies on
// one side of the centre and is not the centre itself: a sum of exponentials is above its largest term, however little.
// A truth strictly above a rounding midpoint rounds up, which no radius would decide.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "reference/readings/proved_functions.hpp"
#include "reference/readings/reading.hpp"
#include "reference/readings/two_double.hpp"

namespace assay::reference {

/// Whether a formula branched on an unknown number in this thread since the last call of take(). If so, its results are
/// unknown, whatever their balls say.
class undecided_branches {
 public:
  static void note() { seen_ = true; }
  static bool take() { return std::exchange(seen_, false); }

 private:
  inline static thread_local bool seen_ = false;
};

/// Where the truth lies: within the radius on both sides of the centre, or strictly above or below it.
enum class side : std::int8_t { below = -1, both = 0, above = 1 };

template <class Number>
struct ball {
  Number centre{};
  double radius = 0.0;
  side side_of_centre = side::both;

  ball() = default;
  explicit ball(double x) : centre(x) {}
  /// The ball is unknown where the centre overflowed.
  ball(const Number& c, double r, side s = side::both) : centre(c), radius(r), side_of_centre(s) {
    if (!std::isfinite(leading(c)) || !std::isfinite(trailing(c)) || !std::isfinite(r)) *this = unknown();
  }
  explicit ball(const bounded<Number>& x) : ball(x.value, x.error) {}
  /// `x`, with a radius that is larger by `inherited`, the error that comes from its argument.
  ball(const bounded<Number>& x, double inherited) : ball(x.value, rounded_up(x.error + inherited)) {}

  static ball unknown() {
    ball x;
    x.radius = std::numeric_limits<double>::infinity();
    return x;
  }
  static ball nan() { return ball(std::numeric_limits<double>::quiet_NaN()); }

  [[nodiscard]] bool is_unknown() const { return std::isinf(radius); }
  [[nodiscard]] bool is_nan() const { return std::isnan(leading(centre)); }
  [[nodiscard]] bool is_infinite() const { return std::isinf(leading(centre)); }
  [[nodiscard]] bool is_finite() const { return std::isfinite(leading(centre)) && !is_unknown(); }
  [[nodiscard]] bool is_exact() const { return radius == 0.0; }
  /// The side of the sum of the centres on which the sum of two truths lies.
  static side common_side(const ball& x, const ball& y) {
    if (x.is_exact()) return y.side_of_centre;
    return y.is_exact() || x.side_of_centre == y.side_of_centre ? x.side_of_centre : side::both;
  }
  [[nodiscard]] bool is_exact_zero() const { return leading(centre) == 0.0 && radius == 0.0; }
  /// An upper and a lower bound on |truth|; the lower one is at least 0.
  [[nodiscard]] double largest() const { return rounded_up(std::fabs(leading(centre)) * (1.0 + 0x1p-52) + radius); }
  [[nodiscard]] double smallest() const {
    return std::fmax(0.0, std::fabs(leading(centre)) * (1.0 - 0x1p-51) - radius * (1.0 + 0x1p-51));
  }
  [[nodiscard]] bool is_positive() const { return is_finite() && leading(centre) > 0.0 && smallest() > 0.0; }
  [[nodiscard]] bool is_negative() const { return is_finite() && leading(centre) < 0.0 && smallest() > 0.0; }

  friend ball operator+(const ball& x, const ball& y) {
    if (!x.is_finite() || !y.is_finite()) {
      if (x.is_nan() || y.is_nan()) return nan();
      return x.is_unknown() || y.is_unknown() ? unknown() : ball(leading(x.centre) + leading(y.centre));
    }
    const auto s = sum(x.centre, y.centre);
    return {s.value, rounded_up(s.error + x.radius + y.radius), s.error == 0.0 ? common_side(x, y) : side::both};
  }
  friend ball operator-(const ball& x) {
    ball r = x;
    r.centre = negated(x.centre);
    r.side_of_centre = static_cast<side>(-static_cast<int>(x.side_of_centre));
    return r;
  }
  friend ball operator-(const ball& x, const ball& y) { return x + -y; }
  friend ball operator*(const ball& x, const ball& y) {
    if (!x.is_finite() || !y.is_finite()) {
      if (x.is_nan() || y.is_nan()) return nan();
      const auto may_vanish = [](const ball& z) { return z.is_finite() && !z.is_exact_zero() && z.smallest() == 0.0; };
      if (x.is_unknown() || y.is_unknown() || may_vanish(x) || may_vanish(y)) return unknown();
      return ball(leading(x.centre) * leading(y.centre));
    }
    const auto p = product(x.centre, y.centre);
    if (x.radius == 0.0 && y.radius == 0.0) return ball(p);
    const double inherited = product_of_bounds(std::fabs(leading(x.centre)) * (1.0 + 0x1p-52) + x.radius, y.radius) +
                             product_of_bounds(std::fabs(leading(y.centre)) * (1.0 + 0x1p-52), x.radius);
    return {p.value, rounded_up(p.error + inherited)};
  }
  friend ball operator/(const ball& x, const ball& y) {
    if (!x.is_finite() || !y.is_finite()) {
      if (x.is_nan() || y.is_nan()) return nan();
      if (x.is_finite() && y.is_infinite()) return ball(0.0);
      if (x.is_infinite() && y.is_finite() && y.smallest() > 0.0) return ball(leading(x.centre) / leading(y.centre));
      return x.is_infinite() && y.is_infinite() ? nan() : unknown();
    }
    if (x.is_exact_zero() && y.is_exact_zero()) return nan();
    const double divisor = y.smallest();
    if (!(divisor > 0.0)) return unknown();
    const auto q = quotient(x.centre, y.centre);
    const double inherited = quotient_of_bounds(
        x.radius + product_of_bounds(std::fabs(leading(q.value)) * (1.0 + 0x1p-50) + q.error, y.radius), divisor);
    return {q.value, rounded_up(q.error + inherited)};
  }

  friend double to_double(const ball& x) { return leading(x.centre); }
  /// Nobody knows whether an unknown number is -inf: the branch that a formula takes then proves nothing
  /// (undecided_branches).
  friend bool is_minus_infinity(const ball& x) {
    if (x.is_unknown()) undecided_branches::note();
    return x.is_infinite() && leading(x.centre) < 0.0;
  }
};

using double_ball = ball<double>;
using two_double_ball = ball<two_double>;

}  // namespace assay::reference
