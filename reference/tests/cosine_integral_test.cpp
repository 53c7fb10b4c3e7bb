// The entire cosine integral and the logarithm in every reading.
#include <catch2/catch.hpp>
#include <cmath>

#include "reference/core/counter_random.hpp"
#include "reference/readings/enclosure.hpp"
#include "reference/readings/rounded.hpp"
#include "reference/readings/tangent.hpp"
#include "reference/readings/tracked.hpp"

using namespace assay;
using namespace assay::reference;

namespace {

const double arguments_of_all_sizes[] = {0x1p-1000, 1e-30, 0.5, 1.0,   3.0,    10.0,   40.0, 83.0,     90.0, 180.0,
                                         200.0,     500.0, 700, 2000., 2300.0, 2400.0, 1e4,  16777217, 1e9,  0x1p31};

bool overlap(const enclosure& x, const enclosure& y) {
  return mpfr_lessequal_p(x.low(), y.high()) != 0 && mpfr_lessequal_p(y.low(), x.high()) != 0;
}

double relative_width(const enclosure& x) {
  mpfr_scratch width(64);
  mpfr_sub(width, x.high(), x.low(), MPFR_RNDU);
  mpfr_div(width, width, x.low(), MPFR_RNDU);
  return mpfr_get_d(width, MPFR_RNDU);
}

// The series at 1000 digits checks the auxiliary functions at 35 and 80 digits, and the other way round.
enclosure enclosure_in_digits(unsigned digits, double x) {
  const computing_with_digits scope(digits);
  return entire_cosine_integral(enclosure(x));
}

void check_enclosures(unsigned digits) {
  for (const double x : arguments_of_all_sizes)
    for (const double sign : {1.0, -1.0}) {
      INFO(digits << " digits, " << sign * x);
      const auto r = enclosure_in_digits(digits, sign * x);
      CHECK(overlap(r, enclosure_in_digits(1000, x)));
      CHECK(relative_width(r) <= std::ldexp(1.0, 6 - static_cast<int>(r.precision())));
    }
}

}  // namespace

TEST_CASE("cosine_integral/enclosures_at_all_precisions", "[property]") {
  check_enclosures(35);
  check_enclosures(80);
  check_enclosures(240);
}

// Cin(z) = integral of 2 sin^2(t/2) / t, computed by Simpson's rule at 100 digits in quarters of a step.
TEST_CASE("cosine_integral/is_the_integral", "[property]") {
  for (const double from : {0.5, 2.0, 30.0, 240.0, 250.0, 260.0}) {
    INFO(from);
    const int steps = 256;
    const value h(0x1p-11);
    const auto slope = [](const value& t) {
      const value s = sin(t / value(2.0));
      return value(2.0) * s * s / t;
    };
    value sum(0.0);
    for (int k = 0; k <= 2 * steps; ++k)
      sum = sum + value(k == 0 || k == 2 * steps ? 1.0 : k % 2 == 1 ? 4.0 : 2.0) * slope(value(from) + value(k) * h);
    const value integral = sum * h / value(3.0);
    const value difference =
        entire_cosine_integral(value(from + 2 * steps * 0x1p-11)) - entire_cosine_integral(value(from));
    CHECK(std::fabs((difference - integral).to_double()) < 1e-15);
  }
}

// Ci(1) and Ci(10) as published: Abramowitz and Stegun 1964, tables 5.1 and 5.2.
TEST_CASE("cosine_integral/published_values", "[unit]") {
  const double gamma = 0.5772156649015329;
  CHECK(gamma + std::log(1.0) - entire_cosine_integral(1.0) == Approx(0.3374039229).margin(1e-10));
  CHECK(gamma + std::log(10.0) - entire_cosine_integral(10.0) == Approx(-0.0454564330).margin(1e-10));
}

TEST_CASE("cosine_integral/special_values", "[unit]") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(entire_cosine_integral(0.0) == 0.0);
  CHECK(entire_cosine_integral(-infinity) == infinity);
  CHECK(std::isnan(entire_cosine_integral(std::nan(""))));
  CHECK(entire_cosine_integral(enclosure(std::nan(""))).is_nan());
  CHECK(mpfr_zero_p(entire_cosine_integral(enclosure(0.0)).high()) != 0);
  // An interval around 0: the result goes from 0 to the value at its farther end.
  const auto x = log(exp(enclosure(3.0))) - enclosure(3.0), around = entire_cosine_integral(x);
  CHECK(mpfr_sgn(x.low()) < 0);
  CHECK(mpfr_sgn(x.high()) > 0);
  CHECK(mpfr_zero_p(around.low()) != 0);
  CHECK(mpfr_sgn(around.high()) > 0);
  CHECK(mpfr_cmp_d(around.high(), 1e-60) < 0);
}

TEST_CASE("cosine_integral/readings_agree", "[property]") {
  for (const double x : arguments_of_all_sizes) {
    INFO(x);
    const double truth = entire_cosine_integral(value(x)).to_double();
    CHECK(entire_cosine_integral(rounded(-x)).number == Approx(truth).epsilon(1e-15));
    {
      const computing_in format(core::dtype::f32);
      CHECK(entire_cosine_integral(rounded(x)).number ==
            static_cast<float>(entire_cosine_integral(static_cast<double>(static_cast<float>(x)))));
    }
    CHECK(entire_cosine_integral(tracked(x)).number == Approx(truth).epsilon(1e-15));
    const double slope = entire_cosine_integral(tangent(value(x), value(1.0))).derivative.to_double();
    CHECK(slope == Approx(2 * std::sin(x / 2) * std::sin(x / 2) / x).margin(1e-12));
  }
}

// The allowance covers gamma + log x - Ci(x) in plain double, the form with the larger error.
TEST_CASE("cosine_integral/allowance_covers_the_plain_form", "[property]") {
  core::counter_random random(5);
  for (int k = 0; k < 300; ++k) {
    const double x = std::ldexp(random.uniform(1.0, 2.0), static_cast<int>(random.below(60)) - 30);
    INFO(x);
    const value truth = entire_cosine_integral(value(x));
    const double logarithm = std::log(x);
    const double ci = (value(0.0) - (truth - value(0.5772156649015329) - log(value(x)))).to_double();
    const double plain = 0.5772156649015329 + logarithm - ci;
    const auto allowed = entire_cosine_integral(tracked(x));
    CHECK(std::fabs((value(plain) - truth).to_double()) <= allowed.error * 0x1p-53);
  }
}
