// The allowance reading: a double value and a running bound on the rounding error that plain arithmetic of the working
// format (working_format.hpp) leaves in it, in units of u = 2^-p, to first order.
//
// Every operation propagates the errors of its operands by its exact partial derivatives and adds its own rounding
// (Higham 2002, section 3.3, running error analysis). A primitive is one operation, not a composition: log_sum_exp has
// the slopes w and 1 - w, so the contraction of the recurrence is kept. A composition of max, exp and log1p would lose
// it. Infinite intermediates are exact and charge nothing.
//
// tau = smallest normal / u is the loss by gradual underflow (or by flushing to 0). A factor or divisor that is exactly
// a power of two, 1 among them, changes only the exponent: where the result is normal, nothing is rounded.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/core/dtype.hpp"
#include "reference/error_bound.hpp"
#include "reference/primitives/exponential.hpp"
#include "reference/primitives/log_sum_exp.hpp"
#include "reference/primitives/logarithm.hpp"
#include "reference/readings/reading.hpp"
#include "reference/readings/working_format.hpp"

namespace assay::reference {

/// |x|, or 0 where x is infinite or NaN: such a number carries no rounding error.
inline double finite_magnitude(double x) { return std::isfinite(x) ? std::fabs(x) : 0.0; }

/// slope * error. A slope of 0 makes even an infinite error 0, since 0 times any finite number is 0. It does not do so
/// for an error of NaN: the number may be an infinity or NaN, and 0 times these is NaN.
inline double propagate(double slope, double error) {
  return error == 0.0 || (slope == 0.0 && !std::isnan(error)) ? 0.0 : slope * error;
}
/// The larger error; NaN is the largest.
inline double larger_error(double x, double y) { return x >= y || std::isnan(x) ? x : y; }

/// The quantities of s = log_sum_exp(t, h) that error analysis needs.
struct log_sum_exp_parts {
  double s, w, v, z, softplus;  ///< z = t - h, softplus = log1p(exp(-|z|)) = s - max(t, h)
  log_sum_exp_parts(double t, double h) {
    const double m = std::max(t, h);
    z = t - h;
    const double e = std::exp(-std::fabs(z));
    softplus = std::log1p(e);
    s = m + softplus;
    const double large = 1.0 / (1.0 + e), small = e / (1.0 + e);
    w = z >= 0.0 ? large : small;
    v = z >= 0.0 ? small : large;
  }
};

struct tracked {
  double number = 0.0;
  /// In units of u. Infinite: any finite number may have been computed. NaN: any number, infinity or NaN.
  double error = 0.0;

  static double u() { return arithmetic().u; }
  static double tau() { return arithmetic().tau; }
  /// The loss of a term among the subnormal numbers, where sums have a format that is less precise than this one: half
  /// of the smallest subnormal.
  static double underflow_of_sums() {
    const working_format& sums = arithmetic_of_sums();
    return sums.u > u() ? sums.u * sums.u * sums.tau / u() : 0.0;
  }

  tracked() = default;
  explicit tracked(double x) : number(x) {}
  tracked(double x, double e) : number(x), error(std::isfinite(x) || std::isnan(e) ? e : 0.0) {}

  /// An integer; rounded where the working format is too short for it.
  static tracked from_integer(double x) { return {x, std::fabs(x) < 1.0 / u() ? 0.0 : std::fabs(x)}; }

  /// A double; rounded where it is no number of the working format.
  static tracked from_double(double x) { return {x, core::round_to(arithmetic().type, x) == x ? 0.0 : std::fabs(x)}; }

  /// The relative change of exp(x), in units of u, when x has an error of `error` u.
  static double growth(double error) { return std::expm1(u() * error) / u(); }

  /// The change of r = exp(log_r), in units of u, when log_r has an error of `error` u. It is r growth(error), also
  /// where r itself underflows and the error does not. An infinite log_r is exact.
  static double change(double r, double log_r, double error) {
    if (r == 0.0 && std::isfinite(log_r)) return std::exp(log_r + u() * error) / u();
    return propagate(r, growth(error));
  }

  /// The k of an output (error_bound.hpp).
  [[nodiscard]] double allowance() const {
    if (std::isinf(number) && !std::isnan(error)) return right_where_the_truth_overflows;
    return std::isnan(number) ? number : error;
  }

  /// See stages.hpp.
  [[nodiscard]] tracked in_units(double factor) const { return {number, error * factor}; }
  /// The number, rounded to the working format.
  [[nodiscard]] tracked rounded_once() const {
    return {number, error + finite_magnitude(number) + (number != 0.0 ? tau() : 0.0)};
  }

  friend tracked operator+(const tracked& x, const tracked& y) {
    const double r = x.number + y.number;
    return {r, x.error + y.error + finite_magnitude(r)};
  }
  friend tracked operator-(const tracked& x, const tracked& y) { return x + -y; }
  friend tracked operator-(const tracked& x) { return {-x.number, x.error}; }
  friend tracked operator*(const tracked& x, const tracked& y) {
    const double r = x.number * y.number;
    const double inherited = propagate(std::fabs(x.number), y.error) + propagate(std::fabs(y.number), x.error) +
                             propagate(u() * x.error, y.error);
    return rounded_unless(x.is_power_of_two() || y.is_power_of_two(), r, inherited);
  }
  /// If the divisor's error interval contains zero, the quotient is unbounded; but see quotient_of_any.
  friend tracked operator/(const tracked& x, const tracked& y) {
    const double r = x.number / y.number, divisor = std::fabs(y.number) - u() * y.error;
    double inherited = x.error;
    if (divisor > 0.0)
      inherited = (x.error + propagate(std::fabs(r), y.error)) / divisor;
    else if (y.error != 0.0)
      inherited = larger_error(y.error, std::numeric_limits<double>::infinity());
    return rounded_unless(y.is_power_of_two(), r, inherited);
  }

  friend double to_double(const tracked& x) { return x.number; }
  friend bool is_minus_infinity(const tracked& x) { return std::isinf(x.number) && x.number < 0.0; }
  friend tracked by_magnitude(const tracked& x) { return {std::fabs(x.number), x.error}; }
  template <class Other>
  friend tracked covering(const tracked& x, Other other) {
    return {x.number, larger_error(x.error, other().error)};
  }
  friend tracked exp_of_roundings(const tracked& x) { return exp(tracked(0.0, x.error)); }
  /// Rounding log|x| instead of x multiplies the rounding error by |log|x||.
  friend tracked stored_as_logarithm(const tracked& x) {
    return {x.number, x.error + finite_magnitude(x.number * std::log(std::fabs(x.number)))};
  }

 private:
  [[nodiscard]] bool is_power_of_two() const {
    return error == 0.0 && std::isfinite(number) && number != 0.0 &&
           std::ldexp(1.0, std::ilogb(number)) == std::fabs(number);
  }
  /// A product or quotient r with the error of its operands and of its rounding. There is no rounding where only the
  /// exponent changes and r stays normal in spite of its errors. A stage may take an operand from a wider stage, and
  /// rounds it in any case: where stages differ, only an exact r that is a number of the format is not rounded.
  static tracked rounded_unless(bool only_scales, double r, double inherited) {
    const bool is_held = !stages_differ() || (inherited == 0.0 && core::round_to(arithmetic().type, r) == r);
    if (only_scales && is_held && std::fabs(r) - u() * inherited >= u() * tau()) return {r, inherited};
    return {r, inherited + finite_magnitude(r) + (r != 0.0 ? tau() : 0.0)};
  }
};

/// m terms in any order: m * sum of magnitudes (Higham 2002, section 4.2) and the propagated errors. Where sums have a
/// format of their own, the total is rounded to the working format once, at the end.
template <>
class accumulator<tracked> {
 public:
  void add(const tracked& x) {
    sum_ += x.number;
    magnitudes_ += finite_magnitude(x.number);
    propagated_ += x.error;
    ++terms_;
  }
  void add_product(const tracked& x, const tracked& y) {
    const double r = x.number * y.number;
    sum_ += r;
    magnitudes_ += finite_magnitude(r);
    propagated_ += propagate(std::fabs(x.number), y.error) + propagate(std::fabs(y.number), x.error) +
                   propagate(tracked::u() * x.error, y.error) + (r != 0.0 ? tracked::tau() : 0.0);
    ++terms_;
  }
  [[nodiscard]] tracked total() const { return total_after(terms_); }
  /// The total after at most this number of roundings: terms of several axes are added axis by axis.
  [[nodiscard]] tracked total_by(double roundings) const { return total_after(std::min(roundings, terms_)); }
  /// Without products there is one addition less than there are terms.
  [[nodiscard]] tracked total_of_terms(double additions) const {
    return total_after(std::min(additions, std::max(terms_ - 1.0, 0.0)));
  }
  /// See stages.hpp.
  [[nodiscard]] accumulator in_units(double factor) const {
    accumulator x = *this;
    x.propagated_ *= factor;
    return x;
  }

 private:
  [[nodiscard]] tracked total_after(double roundings) const {
    const double unit_of_sums = arithmetic_of_sums().u;
    if (unit_of_sums == tracked::u()) return {sum_, propagated_ + roundings * magnitudes_};
    return {sum_, propagated_ +
                      roundings * (magnitudes_ * (unit_of_sums / tracked::u()) + tracked::underflow_of_sums()) +
                      finite_magnitude(sum_)};
  }

  double sum_ = 0, magnitudes_ = 0, propagated_ = 0, terms_ = 0;
};

/// A rounds at each of its additions, and once more wherever it is subtracted or added. Both uses share that error, so
/// it acts like an error in a. It is |A| twice per step under the contraction of the recurrence (`carry`), and
/// ceil(log2(i+1))/2 |A| where A is added back, for prefix sums by blocks.
template <>
class inclusive_sum<tracked> {
  using number = tracked;

 public:
  void add(const number& a) {
    sum_ += a.number;
    step_error_ = a.error;
    ++steps_;
  }
  [[nodiscard]] number enter(const number& h) const {
    const double r = h.number - sum_;
    return {r, h.error + finite_magnitude(r)};
  }
  [[nodiscard]] number carry(const number& l) const {
    return {l.number, l.error + step_error_ + 2.0 * finite_magnitude(sum_)};
  }
  [[nodiscard]] number leave(const number& l) const {
    const double s = l.number + sum_;
    const double depth = std::ceil(std::log2(steps_ + 1.0));
    return {s, l.error + finite_magnitude(s) + depth / 2.0 * finite_magnitude(sum_)};
  }
  [[nodiscard]] double total() const { return sum_; }

 private:
  double sum_ = 0, step_error_ = 0, steps_ = 0;
};

/// e is the relative error of X in units of u. The shift is the number that was computed, whatever it is, so its own
/// rounding cancels; the rounding of a + m is charged where the carried part is rescaled.
template <>
class rescaled_sum<tracked> {
  using number = tracked;

 public:
  explicit rescaled_sum(const number& s0)
      : state_(s0), shift_(is_minus_infinity(s0) ? 0.0 : s0.number), relative_(s0.error) {}
  void step(const number& a, const number& h) {
    const double t = a.number + shift_;
    const double m = std::max(t, h.number);
    const number past(a.number + state_.number);
    const log_sum_exp_parts parts(past.number, h.number);
    const double carried = is_minus_infinity(past) ? 0.0 : is_minus_infinity(h) ? 1.0 : parts.w;
    const double entered = is_minus_infinity(h) ? 0.0 : is_minus_infinity(past) ? 1.0 : parts.v;
    const double error_of_carry = relative_ + a.error + finite_magnitude(t) + finite_magnitude(t - m) +
                                  finite_magnitude(a.number) + accuracy::exp + 1.0;
    const double error_of_input =
        h.error + std::max(finite_magnitude(h.number - m), finite_magnitude(h.number)) + accuracy::exp;
    relative_ = propagate(carried, error_of_carry) + propagate(entered, error_of_input) + 1.0 + tracked::tau();
    shift_ = std::isinf(m) && m < 0.0 ? 0.0 : m;
    state_ = log_sum_exp(past, number(h.number));
  }
  [[nodiscard]] number log_value() const {
    if (!std::isfinite(state_.number)) return number(state_.number);
    return {state_.number,
            relative_ + std::fabs(state_.number) + accuracy::log * finite_magnitude(state_.number - shift_) + 3.0};
  }

 private:
  number state_;
  double shift_, relative_;
};

}  // namespace assay::reference
