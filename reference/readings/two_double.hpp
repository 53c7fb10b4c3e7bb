// Numbers of one double and of two. Their arithmetic says how far its results may lie from the exact ones.
//
// The bounds hold for round to nearest in binary64 without contraction (assay_fp_strict). A bound of 0 means that the
// result is exact. Overflow is not bounded: if finite operands give a result that is not finite, nothing is known.
#pragma once

#include <cmath>

namespace assay::reference {

/// x + y = sum + error exactly, barring overflow (Knuth 1998, section 4.2.2, theorem B: TwoSum).
struct exact_sum {
  double sum, error;
  exact_sum(double x, double y) : sum(x + y) {
    const double y_part = sum - x, x_part = sum - y_part;
    error = (x - x_part) + (y - y_part);
  }
};

/// x y = product + error exactly (Dekker 1971: TwoProduct by Veltkamp's splitting), where |x|, |y| < 2^996 and x y is 0
/// or at least 2^-960 by magnitude.
struct exact_product {
  double product, error;
  exact_product(double x, double y) : product(x * y) {
    const halves a(x), b(y);
    error = ((a.high * b.high - product) + a.high * b.low + a.low * b.high) + a.low * b.low;
  }

 private:
  struct halves {
    double high, low;
    explicit halves(double x) {
      const double c = 0x1.0000002p27 * x;
      high = c - (c - x);
      low = x - high;
    }
  };
};

/// A bound that was computed in double arithmetic with fewer than 32 roundings, increased to cover these.
inline double rounded_up(double bound) { return bound == 0.0 ? 0.0 : bound * (1.0 + 0x1p-47) + 0x1p-1070; }
/// x y for bounds: 0 where a factor is 0, and never because of underflow.
inline double product_of_bounds(double x, double y) { return x == 0.0 || y == 0.0 ? 0.0 : x * y + 0x1p-1070; }

/// x / y for bounds, in the same way.
inline double quotient_of_bounds(double x, double y) { return x == 0.0 ? 0.0 : x / y + 0x1p-1070; }

/// A number, and a bound on its distance from the exact number.
template <class Number>
struct bounded {
  Number value;
  double error;
};

/// high + low, |low| at most half an ulp of high.
struct two_double {
  double high = 0.0, low = 0.0;
  two_double() = default;
  explicit two_double(double x) : high(x) {}
  two_double(double h, double l) : high(h), low(l) {}
  explicit two_double(const exact_sum& s) : high(s.sum), low(s.error) {}
};

// Functions that both kinds of numbers have; `leading` is the nearest double.

inline double leading(double x) { return x; }
inline double leading(const two_double& x) { return x.high; }
inline double negated(double x) { return -x; }
inline two_double negated(const two_double& x) { return {-x.high, -x.low}; }
inline bool is_same(double x, double y) { return x == y; }
inline bool is_same(const two_double& x, const two_double& y) { return x.high == y.high && x.low == y.low; }
/// The rest of the number beside its leading double.
inline double trailing(double) { return 0.0; }
inline double trailing(const two_double& x) { return x.low; }

inline bounded<double> sum(double x, double y) {
  const exact_sum s(x, y);
  return {s.sum, std::fabs(s.error)};
}
/// The two roundings of the low parts are known exactly.
inline bounded<two_double> sum(const two_double& x, const two_double& y) {
  const exact_sum high(x.high, y.high), low(x.low, y.low);
  const exact_sum c(high.error, low.sum);
  const exact_sum v(high.sum, c.sum);
  const exact_sum w(low.error, v.error);
  const exact_sum all(v.sum, w.sum);
  return {two_double(all), rounded_up(std::fabs(c.error) + std::fabs(w.error))};
}

inline bounded<double> product(double x, double y) {
  const double p = x * y;
  if (x == 0.0 || y == 0.0) return {p, 0.0};
  return {p, rounded_up(0x1p-53 * std::fabs(p) + 0x1p-1074)};
}
/// Let u = 2^-53, p = x_high y_high, and |x_low| <= u |x_high|, |y_low| <= u |y_high|. Left out: |x_low y_low| <= u^2
/// |p|. Each of the two cross products is at most u |p| (1 + u) and rounds to u^2 |p|. Their sum rounds to 2 u^2 |p|.
/// That sum with the error of p is at most 3 u |p| and rounds to 3 u^2 |p|. Together below 9 u^2 |p|.
inline bounded<two_double> product(const two_double& x, const two_double& y) {
  const exact_product p(x.high, y.high);
  if (p.product == 0.0 && (x.high == 0.0 || y.high == 0.0)) return {two_double(p.product), 0.0};
  const double size = std::fabs(p.product), underflow = size < 0x1p-960 ? 0x1p-1060 : 0.0;
  if (x.low == 0.0 && y.low == 0.0) return {two_double(p.product, p.error), underflow};
  const double c = p.error + (x.high * y.low + x.low * y.high);
  return {two_double(exact_sum(p.product, c)), 0x1p-102 * size + underflow + 0x1p-1070};
}

inline bounded<double> quotient(double x, double y) {
  const double q = x / y;
  if (x == 0.0) return {q, 0.0};
  return {q, rounded_up(0x1p-53 * std::fabs(q) + 0x1p-1074)};
}
/// The remainder x - q y is known to within the roundings of its parts.
inline bounded<two_double> quotient(const two_double& x, const two_double& y) {
  const double first = x.high / y.high;
  if (x.high == 0.0) return {two_double(first), 0.0};
  const auto once = product(two_double(first), y);
  const auto left = sum(x, negated(once.value));
  const double second = left.value.high / y.high;
  const auto twice = product(two_double(second), y);
  const auto rest = sum(left.value, negated(twice.value));
  // |y| >= |y_high| (1 - u).
  const double remainder =
      std::fabs(rest.value.high) * (1.0 + 0x1p-50) + once.error + left.error + twice.error + rest.error;
  return {two_double(exact_sum(first, second)),
          rounded_up(quotient_of_bounds(remainder, std::fabs(y.high)) * (1.0 + 0x1p-50))};
}

}  // namespace assay::reference
