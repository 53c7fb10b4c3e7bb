// Elementary functions of one double and of two, with proved error bounds. Balls are built on them.
//
// Constants are MPFR's, correctly rounded to one, two or three doubles when the program starts. Each function states
// the argument of its bound. u = 2^-53, and "relative" means relative to the result.
#pragma once

#include "reference/readings/two_double.hpp"

namespace assay::reference::proved {

/// e^x for |x| <= 650. Relative error at most 2^-51, and 2^-100.
bounded<double> exponential(double x);
bounded<two_double> exponential(const two_double& x);
/// exponential() is defined up to this magnitude.
inline constexpr double largest_exponent = 650.0;

/// log(x) for 2^-930 <= x <= 2^930. Relative error at most 2^-49, and 2^-92.
bounded<double> logarithm(double x);
bounded<two_double> logarithm(const two_double& x);

/// log(1 + x) for -2^-7 <= x <= 1.01. Relative error at most 2^-48, and 2^-91.
bounded<double> logarithm_of_one_plus(double x);
bounded<two_double> logarithm_of_one_plus(const two_double& x);

template <class Number>
struct sine_and_cosine {
  bounded<Number> sine, cosine;
};
/// Sine and cosine of an angle |x| <= 2^40. The error is at most 2^-50, and 2^-97; for a sine of |x| < 2^-6 the
/// relative error has this bound.
sine_and_cosine<double> sine_and_cosine_of(double x);
sine_and_cosine<two_double> sine_and_cosine_of(const two_double& x);
inline constexpr double largest_angle = 0x1p40;

}  // namespace assay::reference::proved
