// erf in balls encloses the value of MPFR with more digits.
#include "reference/primitives/error_function.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "reference/readings/all.hpp"

namespace assay::reference {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// Numbers from the range where erf(x) is 2 x / sqrt(pi) to the range where it is 1.
constexpr double numbers_tried[] = {0x1p-60, 0.01, -0.5, 1.0, 2.5, -5.0, 7.0, 30.0};

template <class R>
void holds_the_truth(double x) {
  const computing_with_digits precision(60);
  const value truth = erf(value(x));
  const R own = erf(R(x));
  const double off = value(truth - value(leading(own.centre)) - value(trailing(own.centre))).to_double();
  CHECK(std::fabs(off) <= own.radius);
  CHECK(own.radius <= 0x1p-50 * std::fabs(truth.to_double()));
}

}  // namespace

TEST_CASE("primitives/erf/balls_hold_the_truth", "[unit]") {
  for (const double x : numbers_tried) {
    holds_the_truth<double_ball>(x);
    holds_the_truth<two_double_ball>(x);
  }
  // A ball with a radius encloses the values at both ends.
  const double_ball wide = erf(double_ball(0.25, 0.125));
  CHECK(std::erf(0.125) >= wide.centre - wide.radius);
  CHECK(std::erf(0.375) <= wide.centre + wide.radius);
}

TEST_CASE("primitives/erf/special_values", "[unit]") {
  CHECK(to_double(erf(double_ball(inf))) == 1.0);
  CHECK(to_double(erf(double_ball(-inf))) == -1.0);
  CHECK(erf(double_ball::nan()).is_nan());
  CHECK(erf(double_ball(-0.0)).is_exact_zero());
  CHECK(std::signbit(to_double(erf(double_ball(-0.0)))));
  CHECK(erf(enclosure::nan()).is_nan());
  CHECK(to_double(erf(enclosure(inf))) == 1.0);
}

TEST_CASE("primitives/erf/slope", "[unit]") {
  const computing_with_digits precision(60);
  for (const double x : {0.0, -0.75, 2.0})
    CHECK(std::fabs(erf_slope(value(x)).to_double() - 2 / std::sqrt(std::acos(-1.0)) * std::exp(-x * x)) < 1e-15);
}

}  // namespace assay::reference
