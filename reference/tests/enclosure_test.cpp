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
using interval = enclosure<35>;

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
  // From below: -log(1 + tiny) just under a midpoint.
  const rounding below = round_enclosure(dtype::f32, -sum);
  CHECK(below.decided);
  CHECK(below.value == -(1.0 + 0x1p-23));
}

TEST_CASE("reference/round_enclosure/undecided_is_an_answer", "[unit]") {
  // A midpoint plus log(e + e^-300) - log(e + e^-301), which 35 digits cannot tell from 0 on either side.
  const interval up = log_sum_exp(interval(1.0), interval(-300.0)), down = log_sum_exp(interval(1.0), interval(-301.0));
  const interval near_midpoint = interval(1.0 + 0x1p-24) + (up - down);
  CHECK_FALSE(round_enclosure(dtype::f32, near_midpoint).decided);
  using finer = enclosure<240>;
  const finer resolved =
      finer(1.0 + 0x1p-24) + (log_sum_exp(finer(1.0), finer(-300.0)) - log_sum_exp(finer(1.0), finer(-301.0)));
  const rounding r = round_enclosure(dtype::f32, resolved);
  CHECK(r.decided);
  CHECK(r.value == 1.0 + 0x1p-23);
}

TEST_CASE("reference/round_enclosure/all_formats_agree_with_round_to", "[property]") {
  // Exact numbers: rounding an interval of width 0 is rounding a double.
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
  // e^-745.5 / 2 lies below the smallest subnormal; low is 0, and the distance must not be.
  const interval tiny = exp(interval(-745.5)) * interval(0.25);
  const rounding r = round_enclosure(dtype::f64, tiny);
  CHECK(r.decided);
  CHECK(r.low_decided);
  CHECK(r.value == 0.0);
  CHECK(r.low == 0.0);
  CHECK(r.radius == std::numeric_limits<double>::denorm_min());
  // The same remainder beside 1: proved to be 0 only where the digits reach so far.
  const auto beside_one = [](auto one) { return one + exp(decltype(one)(-745.5)) * decltype(one)(0.25); };
  const rounding coarse = round_enclosure(dtype::f64, beside_one(interval(1.0)));
  CHECK(coarse.decided);
  CHECK_FALSE(coarse.low_decided);
  CHECK(coarse.radius > 0.0);
  const rounding fine = round_enclosure(dtype::f64, beside_one(enclosure<1000>(1.0)));
  CHECK(fine.low_decided);
  CHECK(fine.low == 0.0);
  CHECK(fine.radius == std::numeric_limits<double>::denorm_min());
  const rounding exact = round_enclosure(dtype::f64, interval(0x1p-1074));
  CHECK(exact.low_decided);
  CHECK(exact.radius == 0.0);
}

TEST_CASE("reference/round_enclosure/radius_bounds_the_distance", "[property]") {
  // Against 1000 digits: value + low is within radius, over all exponents, subnormals of each format included.
  core::counter_random random(11);
  for (const dtype t : core::floating_dtypes)
    for (int k = 0; k < 2000; ++k) {
      const double x = -std::ldexp(random.uniform(), static_cast<int>(random.below(15)) - 4);
      const double scale = random.sign() * std::ldexp(1.0 + random.uniform(), static_cast<int>(random.below(60)) - 30);
      const rounding r = round_enclosure(t, exp(interval(x)) * interval(scale));
      using fine = enclosure<1000>;
      const fine rest = exp(fine(x)) * fine(scale) - fine(std::isfinite(r.value) ? r.value : 0.0) - fine(r.low);
      INFO(core::name_of(t) << " exp(" << x << ") * " << scale);
      REQUIRE(mpfr_cmp_d(rest.high(), r.radius) <= 0);
      REQUIRE(mpfr_cmp_d(rest.low(), -r.radius) >= 0);
      REQUIRE(r.radius <= std::fabs(r.low) * 0x1.1p-53 + std::fabs(r.value) * 0x1p-110 + 0x1p-1074);
      // What 35 digits prove of the remainder, 1000 digits find too.
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

TEST_CASE("heinsen/scan/certified_at_first_precision", "[property][heinsen]") {
  // The share of elements proved at 35 digits; the rest must be proved further up.
  const core::operation& op = *find_operation("heinsen/scan");
  for (const dtype t : core::floating_dtypes) {
    std::size_t first = 0, all = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const random_lane lane(100, seed);
      const core::tensors in{{"log_p", core::make_tensor(t, {1, 100, 1}, lane.a)},
                             {"h", core::make_tensor(t, {1, 100, 1}, lane.h)},
                             {"s0", core::make_tensor(t, {1, 1}, {lane.s0})}};
      const auto out = certify(op, t, in);
      REQUIRE(count_undecided(out) == 0);
      for (const std::uint8_t rung : out.at("s").rung) {
        first += rung == 0;
        ++all;
      }
    }
    WARN(core::name_of(t) << ": " << first << " of " << all << " proved at " << precision_digits[0] << " digits");
    CHECK(static_cast<double>(first) >= 0.999 * static_cast<double>(all));
  }
}
