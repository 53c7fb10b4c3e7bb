#include "reference/readings/enclosure.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "reference/core/counter_random.hpp"
#include "reference/encodings/heinsen.hpp"
#include "reference/oracle.hpp"
#include "reference/readings/round_enclosure.hpp"
#include "reference/readings/value.hpp"

using namespace assay;
using namespace assay::reference;
using core::dtype;
using interval = enclosure;

namespace {

struct random_lane {
  std::vector<double> a, h;
  double s0;
  random_lane(std::size_t n, std::uint64_t seed) : a(n), h(n) {
    core::counter_random random(seed);
    s0 = random.normal();
    for (double& x : a) x = -std::ldexp(random.uniform(), static_cast<int>(random.below(12)) - 8);
    for (double& x : h) x = std::ldexp(random.normal(), static_cast<int>(random.below(8)) - 3);
  }
};

template <class R>
std::vector<R> lift_all(const std::vector<double>& x) {
  std::vector<R> y;
  for (const double v : x) y.emplace_back(v);
  return y;
}

template <class R>
std::vector<R> scan(const random_lane& lane) {
  const auto a = lift_all<R>(lane.a), h = lift_all<R>(lane.h);
  std::vector<R> s(a.size());
  sequential_scan<R>({a.data(), 1, a.size()}, {h.data(), 1, h.size()}, R(lane.s0), {s.data(), 1, s.size()});
  return s;
}

}  // namespace

TEST_CASE("heinsen/scan/enclosure_contains_value", "[property][heinsen]") {
  // Two independent readings, at 35 and at 100 digits, over 10^5 elements.
  std::size_t elements = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const random_lane lane(100, seed);
    const auto truth = scan<value>(lane);
    const auto proof = scan<interval>(lane);
    for (std::size_t i = 0; i < truth.size(); ++i, ++elements) {
      mpfr_srcptr s = truth[i].number.backend().data();
      REQUIRE(mpfr_cmp(proof[i].low(), s) <= 0);
      REQUIRE(mpfr_cmp(s, proof[i].high()) <= 0);
      const rounding r = round_enclosure(dtype::f64, proof[i]);
      REQUIRE(r.decided);
      REQUIRE(r.value == truth[i].to_double());
      REQUIRE(r.radius <= 1e-28 * (1 + std::fabs(r.value)));
    }
  }
  CHECK(elements == 100000);
}

TEST_CASE("reference/enclosure/primitives_contain_value", "[property]") {
  core::counter_random random(3);
  const auto check = [](const interval& proof, const value& truth) {
    REQUIRE(mpfr_cmp(proof.low(), truth.number.backend().data()) <= 0);
    REQUIRE(mpfr_cmp(truth.number.backend().data(), proof.high()) <= 0);
    REQUIRE(round_enclosure(dtype::f64, proof).decided);
  };
  for (int k = 0; k < 3000; ++k) {
    const double x = random.sign() * std::ldexp(1 + random.uniform(), static_cast<int>(random.below(40)) - 30);
    const double y = random.sign() * std::ldexp(1 + random.uniform(), static_cast<int>(random.below(40)) - 30);
    check(exp(interval(x)), exp(value(x)));
    check(sigmoid(interval(x)), sigmoid(value(x)));
    check(log_sigmoid(interval(x)), log_sigmoid(value(x)));
    check(softplus(interval(x)), softplus(value(x)));
    check(log_sum_exp(interval(x), interval(y)), log_sum_exp(value(x), value(y)));
    check(interval(x) * interval(y), value(x) * value(y));
    check(interval(x) - interval(y), value(x) - value(y));
  }
}

TEST_CASE("reference/enclosure/intervals_of_every_width_contain_their_corners", "[property]") {
  // [x, x + w], with w from below the last digit to far above the width for which a slope is used.
  const interval zero_width = exp(interval(1.0)) - exp(interval(1.0));  // about [-1, 1] 2^-p
  const auto around = [&](double x, int exponent) {
    return interval(x) + zero_width * interval(std::ldexp(1.0, exponent));
  };
  constexpr mpfr_prec_t fine = 1000;  // exp(-520) beside 1
  core::counter_random random(11);
  const auto check = [](const interval& r, mpfr_srcptr low, mpfr_srcptr high, mpfr_srcptr size) {
    REQUIRE(mpfr_cmp(r.low(), low) < (r.low_open() ? 0 : 1));
    REQUIRE(mpfr_cmp(high, r.high()) < (r.high_open() ? 0 : 1));
    // Not wider than the distance of the corners, except for 2 % and roundings.
    mpfr_scratch width(fine), allowed(fine);
    mpfr_sub(width, r.high(), r.low(), MPFR_RNDN);
    mpfr_sub(allowed, high, low, MPFR_RNDN);
    mpfr_mul_d(allowed, allowed, 1.02, MPFR_RNDN);
    mpfr_scratch roundings(fine);
    mpfr_mul_2si(roundings, size, 6 - static_cast<long>(r.precision()), MPFR_RNDN);
    mpfr_add(allowed, allowed, roundings, MPFR_RNDN);
    REQUIRE(mpfr_cmp(width, allowed) <= 0);
  };
  for (int k = 0; k < 8000; ++k) {
    const auto any = [&] {
      const double x = random.sign() * std::ldexp(1 + random.uniform(), static_cast<int>(random.below(24)) - 16);
      return around(x, static_cast<int>(random.below(118)));
    };
    const interval x = any(), y = random.below(4) == 0 ? x : any();
    mpfr_scratch low(fine), high(fine), size(fine);
    directed::log_sum_exp(low, x.low(), y.low(), MPFR_RNDN);
    directed::log_sum_exp(high, x.high(), y.high(), MPFR_RNDN);
    // The larger term and the amount added to it are each rounded: their sum may cancel.
    mpfr_max(size, x.high(), y.high(), MPFR_RNDN);
    mpfr_abs(size, size, MPFR_RNDN);
    mpfr_add_ui(size, size, 1, MPFR_RNDN);
    check(log_sum_exp(x, y), low, high, size);

    const auto weight = carry_weights(x);
    directed::sigmoid(low, x.low(), MPFR_RNDN);
    directed::sigmoid(high, x.high(), MPFR_RNDN);
    check(weight.w, low, high, high);
    const interval minus = -x;
    directed::sigmoid(low, minus.low(), MPFR_RNDN);
    directed::sigmoid(high, minus.high(), MPFR_RNDN);
    check(weight.v, low, high, high);
  }
}

TEST_CASE("reference/enclosure/products_of_every_sign", "[unit]") {
  for (const double x : {-3.0, -0.5, 0.0, 0.5, 3.0})
    for (const double y : {-2.0, -0.25, 0.0, 0.25, 2.0}) {
      const interval product = interval(x) * interval(y);
      CHECK(mpfr_get_d(product.low(), MPFR_RNDN) == x * y);
      CHECK(mpfr_get_d(product.high(), MPFR_RNDN) == x * y);
      CHECK_FALSE(product.low_open());
      // A factor just below 1 makes the product strictly smaller in magnitude.
      const interval nearly_one = sigmoid(interval(1000.0));
      const interval smaller = interval(x * y) * nearly_one;
      CHECK((x * y > 0 ? smaller.high_open() : x * y < 0 ? smaller.low_open() : !smaller.high_open()));
    }
}

TEST_CASE("reference/enclosure/products_of_two_factors_that_straddle_zero", "[unit]") {
  // e^x - e^x as an interval, times e^x so that its ends have all their digits: 0 lies strictly inside, and products of
  // ends are inexact. It is not known beforehand which corner gives an end.
  const auto around_zero = [](double x) { return (exp(interval(x)) - exp(interval(x))) * exp(interval(x)); };
  for (const double x : {0.3, 1.7, 2.9})
    for (const double y : {0.1, 1.1, 4.3})
      for (const bool negated : {false, true}) {
        const interval p = around_zero(x), q = negated ? -around_zero(y) : around_zero(y), product = p * q;
        REQUIRE(mpfr_sgn(p.low()) < 0);
        REQUIRE(mpfr_sgn(p.high()) > 0);
        CHECK(mpfr_sgn(product.low()) < 0);
        CHECK(mpfr_sgn(product.high()) > 0);
        CHECK_FALSE(product.low_open());
        CHECK_FALSE(product.high_open());
        for (mpfr_srcptr a : {p.low(), p.high()})
          for (mpfr_srcptr b : {q.low(), q.high()}) {
            mpfr_scratch corner(2 * p.precision() + 2);
            REQUIRE(mpfr_mul(corner, a, b, MPFR_RNDN) == 0);
            CHECK(mpfr_cmp(product.low(), corner) <= 0);
            CHECK(mpfr_cmp(corner, product.high()) <= 0);
          }
      }
}

TEST_CASE("reference/enclosure/log_sum_exp_of_half_infinite_intervals", "[unit]") {
  // exp overflows MPFR: [the largest number, +inf].
  const interval above = exp(interval(1e30)), below = -above, zero(0.0), one = exp(zero);
  REQUIRE(mpfr_inf_p(above.high()) != 0);
  REQUIRE(mpfr_number_p(above.low()) != 0);
  for (const interval& sum : {log_sum_exp(below, zero), log_sum_exp(zero, below)}) {
    // log(e^x + 1) for x in [-inf, -huge]: the range goes from 0, which x = -inf attains, to just above 0.
    CHECK(mpfr_zero_p(sum.low()) != 0);
    CHECK_FALSE(sum.low_open());
    CHECK(mpfr_sgn(sum.high()) > 0);
    CHECK(mpfr_cmp_d(sum.high(), 1e-30) < 0);
    CHECK(sum.high_open());
  }
  for (const interval& sum : {log_sum_exp(above, one), log_sum_exp(one, above)}) {
    CHECK(mpfr_cmp(sum.low(), above.low()) <= 0);
    CHECK(mpfr_cmp_d(sum.low(), 1e30) > 0);
    CHECK((mpfr_inf_p(sum.high()) != 0 && mpfr_sgn(sum.high()) > 0));
    CHECK_FALSE(sum.low_open());
    CHECK_FALSE(sum.high_open());
  }
  // An open end of the finite term stays open.
  CHECK(log_sum_exp(below, sigmoid(interval(1.0))).low_open());
  const interval hull = log_sum_exp(below, above);
  CHECK(mpfr_cmp(hull.low(), above.low()) <= 0);
  CHECK(mpfr_inf_p(hull.high()) != 0);
  // Exact infinities give the same as before.
  const interval minus(-INFINITY), plus(INFINITY);
  CHECK(is_minus_infinity(log_sum_exp(minus, minus)));
  CHECK(mpfr_inf_p(log_sum_exp(plus, minus).low()) != 0);
  CHECK(mpfr_inf_p(log_sum_exp(zero, plus).low()) != 0);
}

TEST_CASE("reference/enclosure/sigmoid_beyond_the_exponents_of_mpfr", "[unit]") {
  // exp(1e30) overflows; the bounds 0 <= sigmoid(-1e30) <= tiny still hold, and decide.
  const interval tiny = sigmoid(interval(-1e30)), nearly_one = sigmoid(interval(1e30));
  CHECK(mpfr_sgn(tiny.low()) >= 0);
  CHECK(mpfr_sgn(tiny.high()) > 0);
  CHECK(mpfr_cmp_d(tiny.high(), 1e-300) < 0);
  CHECK(round_enclosure(dtype::f64, tiny).decided);
  CHECK(mpfr_cmp_d(nearly_one.low(), 1.0) <= 0);
  CHECK(mpfr_cmp_d(nearly_one.high(), 1.0) >= 0);
  CHECK(round_enclosure(dtype::f64, nearly_one).value == 1.0);
}

TEST_CASE("reference/round_enclosure/strictly_above_a_midpoint_rounds_up", "[unit]") {
  // 1 + 2^-24 is a midpoint of f32. The smaller term, e^-2000, lies far below 35 digits.
  const double midpoint = 1.0 + 0x1p-24;
  const interval sum = log_sum_exp(interval(midpoint), interval(midpoint - 2000.0));
  CHECK(sum.low_open());
  const rounding above = round_enclosure(dtype::f32, sum);
  CHECK(above.decided);
  CHECK(above.value == 1.0 + 0x1p-23);
  // The exact midpoint itself ties to even; h = -inf adds nothing.
  const rounding tie = round_enclosure(dtype::f32, log_sum_exp(interval(midpoint), interval(-INFINITY)));
  CHECK(tie.decided);
  CHECK(tie.value == 1.0);
  // From below: -log(1 + tiny) lies just under a midpoint.
  const rounding below = round_enclosure(dtype::f32, -sum);
  CHECK(below.decided);
  CHECK(below.value == -(1.0 + 0x1p-23));
}

TEST_CASE("reference/round_enclosure/undecided_is_an_answer", "[unit]") {
  // A midpoint plus log(e + e^-300) - log(e + e^-301); 35 digits cannot tell the difference from 0 on either side.
  const interval up = log_sum_exp(interval(1.0), interval(-300.0)), down = log_sum_exp(interval(1.0), interval(-301.0));
  const interval near_midpoint = interval(1.0 + 0x1p-24) + (up - down);
  CHECK_FALSE(round_enclosure(dtype::f32, near_midpoint).decided);
  const computing_with_digits digits(240);
  using finer = enclosure;
  const finer resolved =
      finer(1.0 + 0x1p-24) + (log_sum_exp(finer(1.0), finer(-300.0)) - log_sum_exp(finer(1.0), finer(-301.0)));
  const rounding r = round_enclosure(dtype::f32, resolved);
  CHECK(r.decided);
  CHECK(r.value == 1.0 + 0x1p-23);
}

// The exponential has an exponent that MPFR cannot hold: the truth lies somewhere above, and nothing bounds it.
TEST_CASE("reference/round_enclosure/without_an_upper_end_nothing_bounds_the_distance", "[unit]") {
  const rounding r = round_enclosure(dtype::f64, log1p(exp(interval(1e9))));
  CHECK_FALSE(r.decided);
  CHECK(r.radius == std::numeric_limits<double>::infinity());
}

TEST_CASE("reference/round_enclosure/all_formats_agree_with_round_to", "[property]") {
  // Exact numbers: an interval of width 0 is rounded like a double.
  core::counter_random random(5);
  for (const dtype t : core::floating_dtypes)
    for (int k = 0; k < 4000; ++k) {
      const double x = random.sign() * std::ldexp(1.0 + random.uniform(), static_cast<int>(random.below(340)) - 180);
      const double coarse = core::round_to(t, x);
      const double tie = coarse + core::half_ulp(t, coarse);
      for (const double y : {x, coarse, std::isfinite(tie) ? tie : x}) {
        const rounding r = round_enclosure(t, interval(y));
        REQUIRE(r.decided);
        REQUIRE(r.value == core::round_to(t, y));
      }
    }
}

TEST_CASE("reference/round_enclosure/radius_bounds_what_underflows", "[unit]") {
  // e^-745.5 / 2 lies below the smallest subnormal; low is 0, and the distance must not be 0.
  const interval tiny = exp(interval(-745.5)) * interval(0.25);
  const rounding r = round_enclosure(dtype::f64, tiny);
  CHECK(r.decided);
  CHECK(r.low_decided);
  CHECK(r.value == 0.0);
  CHECK(r.low == 0.0);
  CHECK(r.radius == std::numeric_limits<double>::denorm_min());
  // The same remainder beside 1 is proved to be 0 only where there are enough digits.
  const auto beside_one = [](auto one) { return one + exp(decltype(one)(-745.5)) * decltype(one)(0.25); };
  const rounding coarse = round_enclosure(dtype::f64, beside_one(interval(1.0)));
  CHECK(coarse.decided);
  CHECK_FALSE(coarse.low_decided);
  CHECK(coarse.radius > 0.0);
  const rounding fine = [&] {
    const computing_with_digits digits(1000);
    return round_enclosure(dtype::f64, beside_one(interval(1.0)));
  }();
  CHECK(fine.low_decided);
  CHECK(fine.low == 0.0);
  CHECK(fine.radius == std::numeric_limits<double>::denorm_min());
  const rounding exact = round_enclosure(dtype::f64, interval(0x1p-1074));
  CHECK(exact.low_decided);
  CHECK(exact.radius == 0.0);
}

TEST_CASE("reference/round_enclosure/just_beyond_the_largest_double_that_number_stands_for_the_truth", "[unit]") {
  constexpr double largest = std::numeric_limits<double>::max();
  for (const double sign : {1.0, -1.0}) {
    const interval most(sign * largest);
    const rounding just = round_enclosure(dtype::f64, most * interval(1.0 + 0x1p-50));
    CHECK(just.decided);
    CHECK(just.value == sign * std::numeric_limits<double>::infinity());
    CHECK(just.low == sign * largest);
    CHECK(just.radius == 0.0);
    const rounding far = round_enclosure(dtype::f64, most * interval(1.5));
    CHECK(far.value == just.value);
    CHECK(std::isinf(far.low));
    // For other formats the truth itself is a double.
    const rounding in_f32 = round_enclosure(dtype::f32, interval(sign * 0x1p200));
    CHECK(std::isinf(in_f32.value));
    CHECK(in_f32.low == sign * 0x1p200);
  }
}

TEST_CASE("reference/round_enclosure/radius_bounds_the_distance", "[property]") {
  // Against 1000 digits: value + low is within radius, over all exponents, including subnormals of each format.
  core::counter_random random(11);
  for (const dtype t : core::floating_dtypes)
    for (int k = 0; k < 2000; ++k) {
      const double x = -std::ldexp(random.uniform(), static_cast<int>(random.below(15)) - 4);
      const double scale = random.sign() * std::ldexp(1.0 + random.uniform(), static_cast<int>(random.below(60)) - 30);
      const rounding r = round_enclosure(t, exp(interval(x)) * interval(scale));
      const computing_with_digits digits(1000);
      using fine = enclosure;
      const fine rest = exp(fine(x)) * fine(scale) - fine(std::isfinite(r.value) ? r.value : 0.0) - fine(r.low);
      INFO(core::name_of(t) << " exp(" << x << ") * " << scale);
      REQUIRE(mpfr_cmp_d(rest.high(), r.radius) <= 0);
      REQUIRE(mpfr_cmp_d(rest.low(), -r.radius) >= 0);
      REQUIRE(r.radius <= std::fabs(r.low) * 0x1.1p-53 + std::fabs(r.value) * 0x1p-110 + 0x1p-1074);
      // A remainder that 35 digits prove is also found with 1000 digits.
      if (!r.low_decided) continue;
      const rounding finest = round_enclosure(t, exp(fine(x)) * fine(scale));
      REQUIRE(finest.low_decided);
      REQUIRE(finest.low == r.low);
    }
}

TEST_CASE("reference/round_enclosure/the_remainder_of_an_overflow_is_the_truth", "[unit]") {
  const rounding r = round_enclosure(dtype::f16, exp(interval(12.0)));
  CHECK(r.value == std::numeric_limits<double>::infinity());
  CHECK(r.low_decided);
  CHECK(r.low == Approx(std::exp(12.0)).epsilon(1e-15));
  const rounding none = round_enclosure(dtype::f16, interval(-std::numeric_limits<double>::infinity()));
  CHECK(none.low_decided);
  CHECK(none.low == 0.0);
}

TEST_CASE("heinsen/scan/certified_below_the_intervals", "[property][heinsen]") {
  // The share of elements that bounds and balls prove; higher rungs must prove the rest.
  const core::operation& op = *find_operation("heinsen/scan");
  for (const dtype t : core::floating_dtypes) {
    std::size_t first = 0, all = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const random_lane lane(100, seed);
      const core::tensors in{{"log_p", core::make_tensor(t, {1, 100, 1}, lane.a)},
                             {"h", core::make_tensor(t, {1, 100, 1}, lane.h)},
                             {"s0", core::make_tensor(t, {1, 1}, {lane.s0})}};
      const auto out = certify({&op, t, in});
      REQUIRE(count_undecided(out) == 0);
      for (const std::uint8_t rung : out.at("s").rung) {
        first += rung < first_interval_rung ? 1 : 0;
        ++all;
      }
    }
    WARN(core::name_of(t) << ": " << first << " of " << all << " proved below the intervals");
    CHECK(static_cast<double>(first) >= 0.999 * static_cast<double>(all));
  }
}
