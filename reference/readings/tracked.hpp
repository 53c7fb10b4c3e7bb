// The allowance reading: a double value and a running bound on the rounding error that plain arithmetic
// of the dtype `Compute` leaves in it, in units of u = 2^-p, to first order.
//
// Every operation propagates the errors of its operands by its exact partial derivatives and adds its
// own rounding (Higham 2002, section 3.3, running error analysis). The primitives are whole, not composed:
// log_sum_exp has the slopes w and 1 - w, so the contraction of the recurrence is kept; composed of
// max, exp and log1p it would be lost. Infinite intermediates are exact and charge nothing.
//
// `tau` = smallest normal / u stands for what gradual underflow (or flushing it) can lose.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/core/dtype.hpp"
#include "reference/readings/accuracy.hpp"
#include "reference/readings/cosine_integral.hpp"
#include "reference/readings/reading.hpp"

namespace assay::reference {

/// |x|, or 0 where x is infinite or NaN: such a number carries no rounding error.
inline double finite_magnitude(double x) { return std::isfinite(x) ? std::fabs(x) : 0.0; }

/// slope * error, where a factor of 0 silences even an infinite one.
inline double propagate(double slope, double error) { return slope == 0.0 || error == 0.0 ? 0.0 : slope * error; }

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

template <core::dtype Compute>
struct tracked {
  double number = 0.0;
  double error = 0.0;  ///< in units of u

  static constexpr int precision = core::format_of(Compute).precision;
  inline static const double u = std::ldexp(1.0, -precision);
  inline static const double tau = std::ldexp(1.0, core::format_of(Compute).min_exponent + precision);

  tracked() = default;
  explicit tracked(double x) : number(x) {}
  tracked(double x, double e) : number(x), error(std::isfinite(x) ? e : 0.0) {}

  /// Rounded where the format of `Compute` is too short for it.
  static tracked from_integer(double x) { return {x, std::fabs(x) < std::ldexp(1.0, precision) ? 0.0 : std::fabs(x)}; }

  /// Rounded where it is no number of the format.
  static tracked from_double(double x) { return {x, core::round_to(Compute, x) == x ? 0.0 : std::fabs(x)}; }

  /// The relative change of exp(x), in units of u, when x is off by `error` u.
  static double growth(double error) { return std::expm1(u * error) / u; }

  /// The change of r = exp(log_r), in units of u, when log_r is off by `error` u: r growth(error), also where r
  /// itself underflows and the error does not. An infinite log_r is exact.
  static double change(double r, double log_r, double error) {
    if (r == 0.0 && std::isfinite(log_r)) return std::exp(log_r + u * error) / u;
    return propagate(r, growth(error));
  }

  friend tracked operator+(const tracked& x, const tracked& y) {
    const double r = x.number + y.number;
    return {r, x.error + y.error + finite_magnitude(r)};
  }
  friend tracked operator-(const tracked& x, const tracked& y) { return x + -y; }
  friend tracked operator-(const tracked& x) { return {-x.number, x.error}; }
  friend tracked operator*(const tracked& x, const tracked& y) {
    const double r = x.number * y.number;
    return {r, propagate(std::fabs(x.number), y.error) + propagate(std::fabs(y.number), x.error) +
                   propagate(u * x.error, y.error) + finite_magnitude(r) + (r != 0.0 ? tau : 0.0)};
  }

  friend tracked operator/(const tracked& x, const tracked& y) {
    const double r = x.number / y.number, divisor = std::fabs(y.number) - u * y.error;
    // Beyond the error of its divisor nothing is known of a quotient.
    const double inherited = divisor > 0.0   ? (x.error + propagate(std::fabs(r), y.error)) / divisor
                             : y.error > 0.0 ? std::numeric_limits<double>::infinity()
                                             : x.error;
    return {r, inherited + finite_magnitude(r) + (r != 0.0 ? tau : 0.0)};
  }

  /// Indeterminate where the errors may turn the comparison round.
  friend boost::tribool less(const tracked& x, const tracked& y) {
    const double margin = u * (x.error + y.error);
    if (margin > 0.0 && !(std::fabs(x.number - y.number) > margin)) return boost::indeterminate;
    return x.number < y.number;
  }
  /// Where it is indeterminate, either branch may be the truth and either may have been taken.
  friend tracked either(boost::tribool condition, const tracked& x, const tracked& y) {
    if (!boost::indeterminate(condition)) return condition ? x : y;
    if (x.number == y.number) return {x.number, std::max(x.error, y.error)};
    const tracked& finite = std::isfinite(x.number) ? x : y;
    const double apart = std::isfinite(x.number - y.number) ? std::fabs(x.number - y.number) / u
                                                            : std::numeric_limits<double>::infinity();
    return {finite.number, std::max(x.error, y.error) + apart};
  }
  friend tracked floor(const tracked& x) {
    return of_step(x, [](double at) { return std::floor(at); });
  }
  friend tracked clamp(const tracked& x, double low, double high) {
    const auto clamped = [=](double at) { return at < low ? low : at > high ? high : at; };
    tracked r = of_step(x, clamped);
    const double reach = u * x.error;
    if (x.number - reach < low) r.error += from_double(low).error;
    if (x.number + reach > high) r.error += from_double(high).error;
    return r;
  }
  /// An increasing function without roundings, from its values at the ends of where x may be.
  template <class Function>
  static tracked of_step(const tracked& x, Function f) {
    const double r = f(x.number), reach = u * x.error;
    if (!(reach > 0.0)) return tracked(r);
    return {r, std::max(f(x.number + reach) - r, r - f(x.number - reach)) / u};
  }

  friend double to_double(const tracked& x) { return x.number; }
  friend bool is_minus_infinity(const tracked& x) { return std::isinf(x.number) && x.number < 0.0; }
  friend tracked charged(const tracked& x) { return {std::fabs(x.number), x.error}; }
  /// Rounding log|x| instead of x multiplies the rounding error by |log|x||.
  friend tracked settled(const tracked& x) {
    return {x.number, x.error + finite_magnitude(x.number * std::log(std::fabs(x.number)))};
  }

  /// r = sin or cos of an angle that is off by `error` u; `slope` is the other one. No error exceeds 2.
  static tracked turned(double r, double slope, double error) {
    const double angle = u * error;
    const double moved = std::isfinite(angle) ? std::min(std::fabs(slope) * angle + angle * angle / 2.0, 2.0) : 2.0;
    return {r, moved / u + accuracy::sin * finite_magnitude(r) + tau};
  }

  friend tracked exp(const tracked& x) {
    const double r = std::exp(x.number);
    return {r, change(r, x.number, x.error) + accuracy::exp * r + tau};
  }
  friend tracked log(const tracked& x) {
    const double r = std::log(x.number);
    return {r, propagate(1.0 / std::fabs(x.number), x.error) + accuracy::log * finite_magnitude(r)};
  }
  /// As gamma + log|x| - Ci(|x|), the form with the larger error. Its slope is (1 - cos x) / x, of which that of the
  /// logarithm and that of Ci cancel near 0.
  friend tracked entire_cosine_integral(const tracked& x) {
    constexpr double gamma = 0.5772156649015329;
    const double r = reference::entire_cosine_integral(x.number);
    if (x.number == 0.0) return {r, x.error};
    const double logarithm = std::log(std::fabs(x.number)), slope = 2.0 / std::fabs(x.number);
    const double terms = gamma + std::fabs(logarithm) + std::fabs(gamma + logarithm - r);
    return {r, propagate(slope, x.error) + accuracy::cosine_integral * finite_magnitude(terms)};
  }
  friend tracked sin(const tracked& x) { return turned(std::sin(x.number), std::cos(x.number), x.error); }
  friend tracked cos(const tracked& x) { return turned(std::cos(x.number), std::sin(x.number), x.error); }
  /// As exp(e log x), the form with the larger error: the exponential multiplies the rounding errors of its argument
  /// (those of e, of log x and of their product) by the argument.
  friend tracked power(const tracked& x, rational e) {
    const double exponent = e.to_double(), r = std::pow(x.number, exponent);
    if (e.p == 0) return tracked(1.0);
    const double argument = std::fabs(exponent * std::log(x.number));
    const double inherited = propagate(std::fabs(exponent / x.number), x.error);
    return {r, change(r, 0.0, inherited + argument * (accuracy::log + 2.0)) + accuracy::exp * r + tau};
  }
  friend tracked log_sigmoid(const tracked& g) {
    const log_sum_exp_parts p(0.0, -g.number);
    return {-p.s, propagate(p.v, g.error) + accuracy::log_sigmoid * finite_magnitude(p.s) + tau};
  }
  friend tracked softplus(const tracked& x) { return -log_sigmoid(-x); }
  friend tracked sigmoid(const tracked& z) {
    const log_sum_exp_parts p(z.number, 0.0);
    return {p.w, change(p.w * p.v, -std::fabs(z.number), z.error) + accuracy::sigmoid * p.w + tau};
  }
  /// v may be formed as sigmoid(-z) or as 1 - w multiplied by the adjoint: 3w for the latter.
  friend weight_pair<tracked> carry_weights(const tracked& z) {
    const log_sum_exp_parts p(z.number, 0.0);
    const double both = change(p.w * p.v, -std::fabs(z.number), z.error);
    return {{p.w, both + accuracy::sigmoid * p.w + tau}, {p.v, both + accuracy::sigmoid * p.v + 3.0 * p.w + tau}};
  }

  /// |dr| <= w E_t + v E_h + |s| + |z| min(w, v) + C_e min(w, v) + C_l log1p(exp(-|z|)) + tau: errors of
  /// the operands, the final addition, the subtraction, exp, log1p, underflow.
  friend tracked log_sum_exp(const tracked& t, const tracked& h) {
    if (std::isnan(t.number) || std::isnan(h.number)) return tracked(t.number + h.number);
    if (is_minus_infinity(t)) return h;
    if (is_minus_infinity(h)) return t;
    if (std::isinf(t.number) || std::isinf(h.number)) return tracked(std::max(t.number, h.number));
    const log_sum_exp_parts p(t.number, h.number);
    double slope_t = p.w, slope_h = p.v;
    if constexpr (precision <= 11) {
      // Second order: at 8 or 11 bits the error moves the weights themselves; their slope is at most 1/4.
      const double shift = u * (t.error + h.error) / 4.0;
      slope_t = std::min(p.w + shift, 1.0);
      slope_h = std::min(p.v + shift, 1.0);
    }
    const double small = std::min(p.w, p.v);
    return {p.s, propagate(slope_t, t.error) + propagate(slope_h, h.error) + std::fabs(p.s) +
                     (std::fabs(p.z) + accuracy::exp) * small + accuracy::log * p.softplus + tau};
  }
};

/// m terms in any order: m * sum of magnitudes (Higham 2002, section 4.2) and the propagated errors.
template <core::dtype Compute>
class accumulator<tracked<Compute>> {
 public:
  void add(const tracked<Compute>& x) {
    sum_ += x.number;
    magnitudes_ += finite_magnitude(x.number);
    propagated_ += x.error;
    ++terms_;
  }
  void add_product(const tracked<Compute>& x, const tracked<Compute>& y) {
    const double r = x.number * y.number;
    sum_ += r;
    magnitudes_ += finite_magnitude(r);
    propagated_ += propagate(std::fabs(x.number), y.error) + propagate(std::fabs(y.number), x.error) +
                   propagate(tracked<Compute>::u * x.error, y.error) + (r != 0.0 ? tracked<Compute>::tau : 0.0);
    ++terms_;
  }
  void add(const accumulator& other) {
    sum_ += other.sum_;
    magnitudes_ += other.magnitudes_;
    propagated_ += other.propagated_;
    terms_ += other.terms_;
  }
  [[nodiscard]] tracked<Compute> total() const { return {sum_, propagated_ + terms_ * magnitudes_}; }

 private:
  double sum_ = 0, magnitudes_ = 0, propagated_ = 0, terms_ = 0;
};

/// A rounds at each of its additions, and once more wherever it is subtracted or added. Both uses share
/// that error, so it acts like an error in a: |A| twice per step under the contraction of the recurrence
/// (`carry`), and ceil(log2(i+1))/2 |A| where A is added back, for prefix sums by blocks.
template <core::dtype Compute>
class inclusive_sum<tracked<Compute>> {
  using number = tracked<Compute>;

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

/// e is the relative error of X in units of u. The shift is whatever number was computed, so its own
/// rounding cancels; a + m is charged where the carried part is rescaled.
template <core::dtype Compute>
class rescaled_sum<tracked<Compute>> {
  using number = tracked<Compute>;

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
    const double of_carry = relative_ + a.error + finite_magnitude(t) + finite_magnitude(t - m) +
                            finite_magnitude(a.number) + accuracy::exp + 1.0;
    const double of_input =
        h.error + std::max(finite_magnitude(h.number - m), finite_magnitude(h.number)) + accuracy::exp;
    relative_ = propagate(carried, of_carry) + propagate(entered, of_input) + 1.0 + number::tau;
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
