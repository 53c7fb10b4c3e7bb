// Factors and divisors that are powers of two round nothing, both in the allowance reading and in plain arithmetic.
#include "reference/readings/tracked.hpp"

#include <catch2/catch.hpp>

#include "reference/core/counter_random.hpp"
#include "reference/oracle.hpp"
#include "reference/primitives/power.hpp"
#include "reference/readings/rounded.hpp"

using namespace assay;
using namespace assay::reference;
using core::dtype;

TEST_CASE("reference/tracked/powers_of_two_round_nothing", "[unit]") {
  const computing_in format(dtype::f32);
  const tracked x(3.0, 2.0);
  CHECK((x * tracked(1.0)).error == 2.0);
  CHECK((tracked(-4.0) * x).error == 8.0);
  CHECK((x / tracked(0.5)).error == 4.0);
  // Everything else is rounded: a factor of 5, a power of two that has an error, a power of two that is divided.
  CHECK((x * tracked(5.0)).error > 10.0 + 14.9);
  CHECK((x * tracked(4.0, 0.5)).error > 8.0 + 1.5 + 11.9);
  CHECK((tracked(4.0) / x).error > 1.3);
  CHECK((tracked::from_integer(0x1p24 + 1) * tracked(1.0)).error == 0x1p24 + 1);
  // Where the result may be subnormal, it may lose as much as underflow loses.
  CHECK((tracked(0x1.8p-126) * tracked(1.0)).error == 0.0);
  CHECK((tracked(0x1.8p-126) * tracked(0.5)).error >= tracked::tau());
  CHECK((tracked(0x1p-126, 0x1p-110) * tracked(1.0)).error >= tracked::tau());
}

// The allowance of such a power was 1 once: every answer below 1 passed.
TEST_CASE("reference/tracked/powers_that_underflow_have_small_allowances", "[unit]") {
  const computing_in format(dtype::f64);
  for (const double x : {1e-200, -1e-200, 1e-170, 0x1p-1074})
    for (const rational e : {rational{2, 1}, rational{3, 1}, rational{4, 1}, rational{5, 2}}) {
      if (x < 0.0 && e.q > 1) continue;
      INFO(x << " to the power of " << e.to_double());
      CHECK(power(tracked(x), e).error <= 4 * tracked::tau());
    }
  CHECK(power(tracked(1e-200, 4e-200), {2, 1}).error <= 4 * tracked::tau());
}

TEST_CASE("reference/tracked/plain_arithmetic_agrees_on_powers_of_two", "[property]") {
  core::counter_random random(11);
  for (const dtype type : core::floating_dtypes) {
    const computing_in format(type);
    for (int k = 0; k < 2000; ++k) {
      const rounded x(std::ldexp(random.normal(), static_cast<int>(random.below(8)) - 6));
      const rounded power(std::ldexp(random.sign(), static_cast<int>(random.below(21)) - 10));
      const double product = x.number * power.number, quotient = x.number / power.number;
      INFO(core::name_of(type) << ": " << x.number << " times and by " << power.number);
      if ((tracked(x.number) * tracked(power.number)).error == 0.0)
        CHECK((x * power).number == product);
      else
        CHECK(std::fabs(product) < core::smallest_normal(type));
      if ((tracked(x.number) / tracked(power.number)).error == 0.0)
        CHECK((x / power).number == quotient);
      else
        CHECK(std::fabs(quotient) < core::smallest_normal(type));
    }
  }
}

TEST_CASE("rope/rotate/the_fastest_pair_has_exact_angles", "[unit][rope]") {
  const core::operation& op = *find_operation("rope/rotate");
  // The error is a few units of |x|, at every position; the second pair loses m theta u.
  for (const double m : {7.0, 200001.0, 16777215.0}) {
    const core::tensors in{{"x", core::make_tensor(dtype::f32, {1, 1, 1, 4}, {0.75, 0.5, 0.75, 0.5})},
                           {"position", core::make_tensor(dtype::i64, {1, 1}, {m})}};
    const core::attributes settings = core::completed(op, {});
    const xt::xarray<double> k = allow({&op, dtype::f32, in, settings}, core::precisions(dtype::f32)).at("y").k.back();
    INFO("position " << m);
    CHECK(k.storage()[0] <= 14.0);
    CHECK(k.storage()[1] <= 14.0);
    CHECK(k.storage()[2] >= 0.001 * m);
  }
  // f32 has no such position: it is rounded first.
  const core::tensors in{{"x", core::make_tensor(dtype::f32, {1, 1, 1, 2}, {0.75, 0.5})},
                         {"position", core::make_tensor(dtype::i64, {1, 1}, {0x1p24 + 1})}};
  const auto beyond = allow({&op, dtype::f32, in, core::completed(op, {})}, core::precisions(dtype::f32));
  CHECK(beyond.at("y").k.back().storage()[0] > 0x1p20);
}
