// x^e with a rational exponent, exact where the result is representable, and with a real exponent. Special values are
// those of IEEE 754: 0^e is 0 for e > 0 and infinite for e < 0, with the sign of the zero where e is odd; x^0 is 1 and
// 1^e is 1, also for NaN. For x < 0 only integer powers exist; all others are NaN.
#pragma once

#include <numeric>

#include "reference/primitives/readings.hpp"

namespace assay::reference {

/// A rational number p / q, q > 0.
struct rational {
  long p = 0, q = 1;
  [[nodiscard]] double to_double() const { return static_cast<double>(p) / static_cast<double>(q); }
};
/// The fraction p / q in lowest terms.
inline rational ratio(long p, long q) {
  const long divisor = std::gcd(p, q);
  return {p / divisor, q / divisor};
}

value power(const value& x, rational e);
/// (x^|p|)^(1/q) or its reciprocal. It increases in |x|, and each step tells whether it was exact.
enclosure power(const enclosure& x, rational e);
/// exp(e log x); for x < 0 exp(e log |x|) with the sign of the power.
template <class Number>
ball<Number> power(const ball<Number>& x, rational e);
/// Computed as exp(e log x), the form with the larger error: the exponential multiplies the rounding errors of its
/// argument (from e, from log x and from their product) by the argument. An integer power may have |p| roundings of
/// products.
tracked power(const tracked& x, rational e);
rounded power(const rounded& x, rational e);

value pow(const value& x, const value& e);
/// The function is monotonic in each argument: its extremes are at corners. An end is called open only where both
/// arguments are single numbers.
enclosure pow(const enclosure& x, const enclosure& e);
template <class Number>
ball<Number> pow(const ball<Number>& x, const ball<Number>& e);
/// Computed as exp(e log x). The argument of exp has an error of |e / x| E_x + |log x| E_e and its own roundings.
tracked pow(const tracked& x, const tracked& e);
rounded pow(const rounded& x, const rounded& e);

}  // namespace assay::reference
