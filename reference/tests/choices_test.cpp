// Comparisons and floor in all readings: an enclosure holds every outcome that a number of its own has, an
// allowance covers every number within its error, and both are sharp where nothing is in doubt.
#include <catch2/catch.hpp>
#include <cmath>

#include "reference/core/counter_random.hpp"
#include "reference/readings/enclosure.hpp"
#include "reference/readings/round_enclosure.hpp"
#include "reference/readings/rounded.hpp"
#include "reference/readings/tangent.hpp"
#include "reference/readings/tracked.hpp"
#include "reference/readings/value.hpp"

using namespace assay;
using namespace assay::reference;
using core::counter_random, core::dtype;
using interval = enclosure;

namespace {

template <class Function>
auto in_format(dtype format, Function f) {
  const computing_in scope(format);
  return f();
}

interval hull(double low, double high) { return either(boost::indeterminate, interval(low), interval(high)); }

bool contains(const interval& x, double t) { return mpfr_cmp_d(x.low(), t) <= 0 && mpfr_cmp_d(x.high(), t) >= 0; }

bool is_exactly(const interval& x, double t) {
  return mpfr_cmp_d(x.low(), t) == 0 && mpfr_cmp_d(x.high(), t) == 0 && !x.low_open() && !x.high_open();
}

// A number on a grid, so that ends of intervals often meet one another, integers and limits.
double on_grid(counter_random& random) { return (static_cast<double>(random.below(41)) - 20.0) / 4.0; }

struct range {
  double low, high;
  explicit range(counter_random& random) : low(on_grid(random)), high(on_grid(random)) {
    if (high < low) std::swap(low, high);
  }
  [[nodiscard]] double drawn(counter_random& random) const {
    switch (random.below(4)) {
      case 0:
        return low;
      case 1:
        return high;
      default:
        return low + (high - low) * random.uniform();
    }
  }
};

// Just below x, or just above it, by less than the digits of the enclosure show.
interval just_below(double x) { return interval(x) - exp(interval(-1000.0)); }
interval just_above(double x) { return interval(x) + exp(interval(-1000.0)); }

}  // namespace

TEST_CASE("reference/choices/enclosures_contain_every_outcome", "[property]") {
  counter_random random(31);
  std::size_t certain = 0, open = 0;
  for (int k = 0; k < 20000; ++k) {
    const range x(random), y(random);
    const interval in_x = hull(x.low, x.high), in_y = hull(y.low, y.high);
    const double t = x.drawn(random), s = y.drawn(random);
    REQUIRE(contains(in_x, t));
    REQUIRE(contains(floor(in_x), std::floor(t)));
    const boost::tribool order = less(in_x, in_y);
    if (boost::indeterminate(order)) {
      // Both outcomes occur: there are a smaller and a larger number, or an equal one.
      REQUIRE(x.low < y.high);
      REQUIRE(x.high >= y.low);
    } else {
      REQUIRE((t < s) == static_cast<bool>(order));
    }
    ++(boost::indeterminate(order) ? open : certain);
    REQUIRE(contains(either(order, in_x, in_y), t < s ? t : s));
  }
  CHECK(certain > 5000);
  CHECK(open > 5000);
}

TEST_CASE("reference/choices/a_number_is_no_doubt", "[property]") {
  const computing_in format(dtype::f32);
  counter_random random(32);
  for (int k = 0; k < 2000; ++k) {
    const double x = on_grid(random), y = on_grid(random);
    REQUIRE(is_exactly(floor(interval(x)), std::floor(x)));
    REQUIRE(floor(value(x)).to_double() == std::floor(x));
    const boost::tribool order = less(interval(x), interval(y));
    REQUIRE(!boost::indeterminate(order));
    REQUIRE(static_cast<bool>(order) == (x < y));
    REQUIRE(static_cast<bool>(less(value(x), value(y))) == (x < y));
    REQUIRE(static_cast<bool>(less(tracked(x), tracked(y))) == (x < y));
    REQUIRE(floor(tracked(x)).error == 0.0);
  }
}

TEST_CASE("reference/choices/an_end_that_is_not_attained_decides", "[property]") {
  for (const double x : {-2.0, 0.0, 1.0, 3.0, 1e10}) {
    INFO("x = " << x);
    CHECK(is_exactly(floor(just_below(x)), x - 1.0));
    CHECK(is_exactly(floor(just_above(x)), x));
    CHECK(less(just_below(x), interval(x)));
    CHECK(less(interval(x), just_above(x)));
    CHECK(!less(just_above(x), interval(x)));
    CHECK(less(just_below(x), just_above(x)));
    // A hull keeps an open end only where no branch attains it.
    CHECK(boost::indeterminate(less(either(boost::indeterminate, just_below(x), interval(x)), interval(x))));
    CHECK(less(either(boost::indeterminate, just_below(x), interval(x - 1.0)), interval(x)));
  }
}

TEST_CASE("reference/choices/special_values_of_enclosures", "[property]") {
  const interval nan(std::nan("")), overflowed = exp(interval(1e30));
  CHECK(!overflowed.is_finite());
  CHECK((interval(0.0) * interval(HUGE_VAL)).is_nan());
  CHECK((interval(-HUGE_VAL) * interval(-0.0)).is_nan());
  CHECK(is_exactly(interval(0.0) * overflowed, 0.0));
  CHECK(is_exactly(interval(0.0) * interval(-5.0), 0.0));
  CHECK(floor(nan).is_nan());
  CHECK(!less(nan, interval(1.0)));
  CHECK(!less(interval(1.0), nan));
  CHECK(is_exactly(floor(interval(-HUGE_VAL)), -HUGE_VAL));
  CHECK(less(interval(-HUGE_VAL), interval(-1e300)));
  // A choice between NaN and a number proves nothing, whatever follows.
  const interval any = either(boost::indeterminate, nan, interval(1.0));
  CHECK(!round_enclosure(dtype::f64, any).decided);
  CHECK(!round_enclosure(dtype::f64, any * interval(0.0)).decided);
  CHECK(either(boost::indeterminate, nan, nan).is_nan());
}

TEST_CASE("reference/choices/allowances_cover_what_is_within_the_error", "[property]") {
  const computing_in format(dtype::f32);
  counter_random random(33);
  constexpr double u = 0x1p-24;
  REQUIRE(tracked::u() == u);
  const auto any = [&] { return tracked(on_grid(random), random.one_in(4) ? 0.0 : random.uniform() / u); };
  const auto within = [&](const tracked& x) { return x.number + u * x.error * random.uniform(-1.0, 1.0); };
  const auto covers = [&](const tracked& r, double moved) {
    return std::fabs(moved - r.number) <= u * r.error * (1 + 1e-12);
  };
  for (int k = 0; k < 20000; ++k) {
    const tracked x = any(), y = any();
    const double true_x = within(x), true_y = within(y);
    REQUIRE(covers(floor(x), std::floor(true_x)));
    // min(x, y) by a comparison that errors may have turned: the branch taken against the other one's truth.
    const boost::tribool order = less(x, y);
    const tracked smaller = either(order, x, y);
    if (boost::indeterminate(order))
      REQUIRE((covers(smaller, true_x) && covers(smaller, true_y)));
    else
      REQUIRE((true_x < true_y) == static_cast<bool>(order));
  }
  CHECK(std::isinf(either(boost::indeterminate, tracked(1.0), tracked(HUGE_VAL)).error));
}

TEST_CASE("reference/choices/one_formula_in_every_reading", "[property]") {
  const computing_in format(dtype::f32);
  // |x| and a ramp, by comparison.
  const auto magnitude = [](const auto& x) { return either(less(x, decltype(-x)(0.0)), -x, x); };
  const auto ramp = [](const auto& x) {
    using R = decltype(-x);
    return either(less(x, R(0.0)), R(0.0), either(less(R(1.0), x), R(1.0), x));
  };
  for (const double x : {-7.5, -1.0, -0.25, 0.25, 0.5, 1.0, 1.25, 90.0}) {
    INFO("x = " << x);
    CHECK(magnitude(value(x)).to_double() == std::fabs(x));
    CHECK(is_exactly(magnitude(interval(x)), std::fabs(x)));
    CHECK(in_format(dtype::bf16, [&] { return to_double(magnitude(rounded(x))); }) == std::fabs(x));
    CHECK(magnitude(tracked(x)).number == std::fabs(x));
    const tangent point(value(x), value(1.0));
    CHECK(magnitude(point).derivative.to_double() == std::copysign(1.0, x));
    CHECK(ramp(point).derivative.to_double() == (x < 0.0 || x > 1.0 ? 0.0 : 1.0));
    CHECK(ramp(point).number.to_double() == std::clamp(x, 0.0, 1.0));
    CHECK(is_exactly(ramp(interval(x)), std::clamp(x, 0.0, 1.0)));
    CHECK(floor(point).derivative.to_double() == 0.0);
  }
}
