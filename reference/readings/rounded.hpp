// The plain arithmetic of a dtype: every operation and every primitive rounded to nearest.
//
// Operations are computed in double and rounded once more. For f32, f16 and bf16 that double rounding is
// harmless for + - * / (Figueroa 1995: 53 >= 2p + 2); a primitive gains at most 2^-53 of its result.
#pragma once

#include <cmath>

#include "reference/core/dtype.hpp"
#include "reference/readings/cosine_integral.hpp"
#include "reference/readings/reading.hpp"

namespace assay::reference {

template <core::dtype Type>
struct rounded {
  double number = 0.0;

  rounded() = default;
  explicit rounded(double x) : number(round(x)) {}

  static double round(double x) {
    if constexpr (Type == core::dtype::f64) return x;
    if constexpr (Type == core::dtype::f32) return static_cast<float>(x);
    return core::round_to(Type, x);
  }

  friend rounded operator+(rounded x, rounded y) { return rounded(x.number + y.number); }
  friend rounded operator-(rounded x, rounded y) { return rounded(x.number - y.number); }
  friend rounded operator*(rounded x, rounded y) { return rounded(x.number * y.number); }
  friend rounded operator/(rounded x, rounded y) { return rounded(x.number / y.number); }
  friend rounded operator-(rounded x) { return rounded(-x.number); }

  friend double to_double(rounded x) { return x.number; }
  friend bool is_minus_infinity(rounded x) { return std::isinf(x.number) && x.number < 0.0; }
  friend bool is_positive(rounded x) { return x.number > 0.0; }
  friend rounded larger(rounded x, rounded y) {
    if (std::isnan(x.number) || std::isnan(y.number)) return rounded(x.number + y.number);
    return x.number < y.number ? y : x;
  }
  friend boost::tribool less(rounded x, rounded y) { return x.number < y.number; }
  friend rounded either(boost::tribool condition, rounded x, rounded y) { return condition ? x : y; }
  friend rounded floor(rounded x) { return rounded(std::floor(x.number)); }
  /// The limits, too, are numbers of the format.
  friend rounded clamp(rounded x, double low, double high) {
    return x.number < low ? rounded(low) : x.number > high ? rounded(high) : x;
  }

  friend rounded exp(rounded x) { return rounded(std::exp(x.number)); }
  friend rounded log(rounded x) { return rounded(std::log(x.number)); }
  friend rounded log1p(rounded x) { return rounded(std::log1p(x.number)); }

  friend rounded sin(rounded x) { return rounded(std::sin(x.number)); }
  friend rounded cos(rounded x) { return rounded(std::cos(x.number)); }
  friend rounded entire_cosine_integral(rounded x) { return rounded(reference::entire_cosine_integral(x.number)); }
  friend rounded power(rounded x, rational e) { return rounded(std::pow(x.number, e.to_double())); }

  /// max(x, y) + log1p(exp(-|x - y|)), the special values resolved before the difference is formed.
  friend rounded log_sum_exp(rounded x, rounded y) {
    if (std::isnan(x.number) || std::isnan(y.number)) return x + y;
    const rounded m = larger(x, y);
    if (is_minus_infinity(x) || is_minus_infinity(y) || std::isinf(m.number)) return m;
    return m + log1p(exp(rounded(-std::fabs((x - y).number))));
  }
  friend rounded softplus(rounded x) { return log_sum_exp(rounded(0.0), x); }
  friend rounded log_sigmoid(rounded g) { return -softplus(-g); }
  friend rounded sigmoid(rounded z) {
    const rounded e = exp(rounded(-std::fabs(z.number)));
    const rounded larger_weight(1.0 / (rounded(1.0) + e).number);
    return z.number >= 0.0 || std::isnan(z.number) ? larger_weight : e * larger_weight;
  }
  friend weight_pair<rounded> carry_weights(rounded z) { return {sigmoid(z), sigmoid(-z)}; }
};

}  // namespace assay::reference
