// x^e: with a rational exponent, exact where the result is, and with a real one.
// Special values are those of IEEE 754: 0^e is 0 for e > 0 and infinite for e < 0, with the sign of the zero where e is
// odd; x^0 is 1 and 1^e is 1, of NaN, too. Of x < 0 there are integer powers alone; all others are NaN.
#pragma once

#include <numeric>

#include "reference/primitives/readings.hpp"

namespace assay::reference {

/// A rational number p / q, q > 0.
struct rational {
  long p = 0, q = 1;
  [[nodiscard]] double to_double() const { return static_cast<double>(p) / static_cast<double>(q); }
};
/// In lowest terms.
inline rational ratio(long p, long q) {
  const long divisor = std::gcd(p, q);
  return {p / divisor, q / divisor};
}

value power(const value& x, rational e);
/// (x^|p|)^(1/q) or its reciprocal: increasing in |x|, and each step tells whether it was exact.
enclosure power(const enclosure& x, rational e);
/// exp(e log x); of x < 0 with its sign.
template <class Number>
ball<Number> power(const ball<Number>& x, rational e);
/// As exp(e log x), the form with the larger error: the exponential multiplies the rounding errors of its argument
/// (those of e, of log x and of their product) by the argument. An integer power may be |p| roundings of products.
tracked power(const tracked& x, rational e);
rounded power(const rounded& x, rational e);

value pow(const value& x, const value& e);
/// Monotonic in each argument: its extremes are at corners. Openness is claimed where both are single numbers.
enclosure pow(const enclosure& x, const enclosure& e);
template <class Number>
ball<Number> pow(const ball<Number>& x, const ball<Number>& e);
/// As exp(e log x), whose argument is off by |e / x| E_x + |log x| E_e and by its own roundings.
tracked pow(const tracked& x, const tracked& e);
rounded pow(const rounded& x, const rounded& e);

}  // namespace assay::reference
