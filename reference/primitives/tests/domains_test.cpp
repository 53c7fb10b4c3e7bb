// Functions at the ends of their domains, and results beyond them. Truths are those of mpmath at 60 digits.
#include <catch2/catch.hpp>

#include "reference/core/counter_random.hpp"
#include "reference/core/special_values.hpp"
#include "reference/error_bound.hpp"
#include "reference/formula/differentiate.hpp"
#include "reference/formula/functions.hpp"
#include "reference/formula/interpreter.hpp"
#include "reference/formula/recording.hpp"
#include "reference/primitives/all.hpp"
#include "reference/readings/all.hpp"
#include "reference/readings/round_ball.hpp"
#include "reference/readings/round_enclosure.hpp"

using namespace assay;
using namespace assay::reference;
using core::dtype;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity(),
                 no_number = std::numeric_limits<double>::quiet_NaN();

// 0, as an interval or a ball that reaches to both sides of 0; in plain arithmetic of most formats the exact 0.
template <class R>
R about_zero() {
  return R(1.0) / R(3.0) * R(3.0) - R(1.0);
}

template <class R, class Function>
rounding in_f64(Function f) {
  if constexpr (std::is_same_v<R, enclosure>)
    return round_enclosure(dtype::f64, f(R(1.0)));
  else
    return round_ball(dtype::f64, f(R(1.0)));
}

// Checks an expression of 1 in every reading that proves. Readings that decide must give the truth.
template <class Function>
void check_proofs(double truth, Function f) {
  bool decided = false;
  for (const unsigned digits : {35U, 80U}) {
    const computing_with_digits scope(digits);
    const rounding r = in_f64<enclosure>(f);
    if (r.decided) CHECK(core::same_value(r.value, truth));
    decided = decided || r.decided;
  }
  CHECK(decided);
  for (const rounding& r : {in_f64<double_ball>(f), in_f64<two_double_ball>(f)})
    if (r.decided) CHECK(core::same_value(r.value, truth));
}

template <class Function>
void check_undecided(Function f, const char* what = "") {
  INFO(what);
  CHECK_FALSE(in_f64<enclosure>(f).decided);
  CHECK_FALSE(in_f64<double_ball>(f).decided);
  CHECK_FALSE(in_f64<two_double_ball>(f).decided);
}

template <class Function>
double allowance_of(Function f) {
  const computing_in format(dtype::f32);
  return f(tracked(1.0)).allowance();
}

}  // namespace

TEST_CASE("reference/domains/beside_their_ends", "[unit]") {
  SECTION("an argument that reaches below 0 until there are digits enough") {
    check_proofs(-0x1.8429946e1af5ep+6, [](auto one) {
      using R = decltype(one);
      return log(about_zero<R>() + R(0x1p-140));
    });
    check_proofs(0x1.279a74590331cp-71, [](auto one) {
      using R = decltype(one);
      return power((about_zero<R>() + R(0x1p-140)) / R(3.0), ratio(1, 2));
    });
    check_proofs(0x1.bb67ae8584caap+70, [](auto one) {
      using R = decltype(one);
      return power((about_zero<R>() + R(0x1p-140)) / R(3.0), ratio(-1, 2));
    });
  }
  SECTION("what lies outside is no number") {
    const auto below = [](auto one) { return about_zero<decltype(one)>() - one; };
    check_proofs(no_number, [&](auto one) { return log(below(one)); });
    check_proofs(no_number, [&](auto one) { return log1p(below(one) - one); });
    check_proofs(no_number, [&](auto one) { return power(below(one), ratio(1, 2)); });
    check_proofs(no_number, [&](auto one) { return power(below(one), ratio(-3, 2)); });
    check_proofs(no_number, [&](auto one) { return pow(below(one), decltype(one)(0.5)); });
    check_proofs(no_number, [&](auto one) { return sin(decltype(one)(infinite) * one); });
  }
  SECTION("what may lie outside is not decided, whatever is made of it") {
    const auto each = [](auto f) {
      check_undecided(f);
      check_undecided([&](auto one) { return f(one) * decltype(one)(0.0); }, "f");
      check_undecided([&](auto one) { return exp(f(one)) * decltype(one)(0.0); }, "exp");
      check_undecided([&](auto one) { return sin(f(one)) * decltype(one)(0.0); }, "sin");
      check_undecided([&](auto one) { return sigmoid(f(one)) * decltype(one)(0.0); }, "sigmoid");
      check_undecided([&](auto one) { return larger(f(one), decltype(one)(infinite)); }, "larger");
    };
    each([](auto one) { return log(about_zero<decltype(one)>()); });
    each([](auto one) { return log1p(about_zero<decltype(one)>() - one); });
    each([](auto one) { return power(about_zero<decltype(one)>(), ratio(1, 2)); });
    each([](auto one) { return power(about_zero<decltype(one)>(), ratio(-1, 1)); });
    each([](auto one) { return pow(about_zero<decltype(one)>(), decltype(one)(0.5)); });
    each([](auto one) { return pow(about_zero<decltype(one)>(), decltype(one)(-2.0)); });
    each([](auto one) { return one / about_zero<decltype(one)>(); });
  }
}

TEST_CASE("reference/domains/integer_powers", "[unit]") {
  check_proofs(9.0, [](auto one) { return power(decltype(one)(-3.0), ratio(2, 1)); });
  check_proofs(9.0, [](auto one) { return pow(decltype(one)(-3.0), decltype(one)(2.0)); });
  check_proofs(-2187.0, [](auto one) { return pow(decltype(one)(-3.0), decltype(one)(7.0)); });
  check_proofs(-0x1.2f684bda12f68p-5, [](auto one) { return power(decltype(one)(-3.0), ratio(-3, 1)); });
  check_proofs(-0x1.0db20a88f4696p-8, [](auto one) { return power(-one / decltype(one)(3.0), ratio(5, 1)); });
  check_proofs(no_number, [](auto one) { return pow(decltype(one)(-3.0), decltype(one)(2.5)); });
  check_undecided([](auto one) { return pow(decltype(one)(-3.0), about_zero<decltype(one)>() + one + one); });
  // Arguments on both sides of 0: an even power starts at 0.
  const enclosure x = about_zero<enclosure>();
  CHECK(mpfr_sgn(power(x, ratio(2, 1)).low()) == 0);
  CHECK(power(x, ratio(3, 1)).straddles_zero());

  const auto square = [](auto base) { return power(base, ratio(2, 1)); };
  CHECK(allowance_of([&](auto) { return square(tracked(-3.0, 1.0)); }) >= 6.0);
  CHECK(allowance_of([&](auto) { return square(tracked(-3.0, 1.0)); }) < 120.0);
  CHECK(allowance_of([&](auto) { return square(tracked(0.0, 0x1p12)); }) == Approx(1.0));
  CHECK(is_not_judged(dtype::f32, allowance_of([&](auto) { return power(tracked(0.0, 1.0), ratio(-2, 1)); }), 1.0));
  // Near 1 the roundings of a product are larger than those of an exponential.
  CHECK(allowance_of([&](auto) { return power(tracked(1.0 + 0x1p-20), ratio(64, 1)); }) >= 64.0);
}

// The slope of x^e in e is 0 at x = 0 and nowhere else: a number that may be 0 does not count as 0.
TEST_CASE("reference/domains/slopes_of_powers_at_zero", "[unit]") {
  using namespace formula;
  const program gradient = [] {
    recording recorder;
    const traced x = recorder.input("x", {}), e = recorder.input("e", {});
    recorder.output("y", pow(x, e));
    return *differentiate(recorder.finish());
  }();
  const auto slope_in_exponent = [&](const enclosure& x) {
    const interpreter<enclosure>::arrays in{{"x", reals<enclosure>{x}},
                                            {"e", reals<enclosure>{enclosure(0.5)}},
                                            {"grad_y", reals<enclosure>{enclosure(1.0)}}};
    const auto made = interpreter<enclosure>(gradient, in).run();
    return std::get<reals<enclosure>>(made.at("grad_e")).front();
  };
  CHECK(slope_in_exponent(enclosure(0.0)).is_zero());
  const enclosure tiny = larger(about_zero<enclosure>(), enclosure(0.0));
  CHECK(to_double(tiny) == 0.0);
  CHECK_FALSE(slope_in_exponent(tiny).is_zero());
  CHECK_FALSE(round_enclosure(dtype::f64, slope_in_exponent(tiny)).decided);
}

TEST_CASE("reference/domains/exact_zeros", "[unit]") {
  const auto over = [](double x, double y) { return [=](auto one) { return decltype(one)(x) / decltype(one)(y); }; };
  check_proofs(no_number, over(0.0, 0.0));
  check_proofs(infinite, over(2.0, 0.0));
  check_proofs(-infinite, over(2.0, -0.0));
  check_proofs(infinite, over(-2.0, -0.0));
  check_proofs(-infinite, [](auto one) { return one / (decltype(one)(0.0) * decltype(one)(-3.0)); });
  check_proofs(infinite, [](auto one) { return one / -(decltype(one)(0.0) * decltype(one)(-3.0)); });
  check_proofs(0.0, over(3.0, -infinite));
  check_proofs(no_number, over(infinite, -infinite));
  check_proofs(no_number, [](auto one) { return decltype(one)(0.0) * decltype(one)(infinite); });
  check_proofs(no_number, [](auto one) { return decltype(one)(infinite) - decltype(one)(infinite) * one; });
  check_undecided([](auto one) {
    using R = decltype(one);
    return R(infinite) / exp(exp(R(50.0)) * exp(R(50.0)));  // too large for any exponent, and no infinity
  });
  // Where a difference cancels, the sign of its zero is a convention.
  check_undecided([](auto one) { return one / (one - one); });
  check_proofs(0.0, [](auto one) { return power(decltype(one)(0.0), ratio(1, 2)); });
  check_proofs(infinite, [](auto one) { return power(decltype(one)(0.0), ratio(-1, 2)); });

  CHECK(allowance_of([](auto) { return power(tracked(0.0), ratio(1, 2)); }) == 0.0);
  CHECK(std::isinf(allowance_of([](auto) { return power(tracked(0.0, 1.0), ratio(1, 2)); })));
  CHECK(std::isnan(allowance_of([](auto) { return tracked(0.0) * quotient_of_any(tracked(1.0), tracked(0.0, 1.0)); })));
  CHECK(std::isnan(
      allowance_of([](auto) { return larger(tracked(5.0), quotient_of_any(tracked(1.0), tracked(0.0, 1.0))); })));
}

TEST_CASE("reference/domains/beyond_the_range_of_doubles", "[unit]") {
  const auto share = [](auto one) {
    const auto a = exp(decltype(one)(800.0)), b = exp(decltype(one)(799.0));
    return a / (a + b);
  };
  check_proofs(0x1.764d4f5d5a2bdp-1, share);
  CHECK(std::isnan(allowance_of(share)));
  const auto product = [](auto one) { return exp(decltype(one)(-800.0)) * exp(decltype(one)(800.0)); };
  CHECK(std::isnan(allowance_of(product)));
}

// Plain arithmetic stays within its allowance where arguments come near the ends of domains, or the result is not
// judged.
TEST_CASE("reference/domains/plain_arithmetic_stays_within_its_allowance", "[property]") {
  const auto run = [](auto make, core::counter_random random) {
    using R = decltype(make(1.0));
    const auto drawn = [&] { return make(static_cast<double>(random.below(9)) / 8.0 - 0.5); };
    std::vector<R> x{drawn(), drawn(), drawn(), drawn()};
    R sum(0.0), squares(0.0);
    for (const R& each : x) sum = sum + each, squares = squares + each * each;
    const R mean = sum / R(3.0), variance = squares / R(3.0) - mean * mean, difference = x[0] * x[1] - x[2] * x[3];
    const auto f = [](formula::op what, const R& argument, long p = 1, long q = 1) {
      formula::node n{.what = what};
      n.integers[0] = {p};
      n.integers[1] = {q};
      return formula::function_of(n, argument);
    };
    return std::vector<R>{f(formula::op::power, variance, 1, 2),
                          f(formula::op::power, variance, -1, 2),
                          f(formula::op::log, variance),
                          f(formula::op::log1p, difference * R(3.0) / R(7.0)),
                          quotient_of_any(x[0], difference),
                          pow(difference / R(3.0), R(3.0)),
                          power(difference / R(3.0), ratio(2, 1)),
                          formula::function_of(formula::node{.what = formula::op::pow}, variance, x[0]),
                          R(0.0) * f(formula::op::log, difference),
                          -larger(-larger(f(formula::op::power, difference, 1, 3), R(-1.0)), R(-1.0))};
  };
  std::size_t judged = 0, left_out = 0;
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    const computing_in format(type);
    const double u = core::unit_roundoff(type);
    for (std::uint64_t k = 0; k < 3000; ++k) {
      const auto plain = run([](double x) { return rounded(x); }, core::counter_random(k));
      const auto law = run([](double x) { return tracked::from_double(x); }, core::counter_random(k));
      for (std::size_t i = 0; i < plain.size(); ++i) {
        const double allowance = law[i].allowance();
        const bool is_left_out = std::isnan(allowance) || allowance == right_where_the_truth_overflows;
        (is_left_out ? left_out : judged) += 1;
        if (is_left_out) continue;
        INFO(core::name_of(type) << ", seed " << k << ", expression " << i << ": " << plain[i].number << " for "
                                 << law[i].number << " within " << u * allowance);
        CHECK(std::fabs(plain[i].number - law[i].number) <= bug_slack * u * allowance);
      }
    }
  }
  CHECK(judged > left_out);
}

TEST_CASE("primitives/powers/special_values_are_those_of_ieee_754", "[unit]") {
  const auto check_pow = [](double base, double exponent) {
    INFO(base << " to the power " << exponent);
    const auto powers = [&](auto one) {
      using R = decltype(one);
      return pow(R(base), R(exponent));
    };
    check_proofs(std::pow(base, exponent), powers);
    if (std::floor(exponent) != exponent || std::fabs(exponent) > 9.0) return;
    check_proofs(std::pow(base, exponent), [&](auto one) {
      using R = decltype(one);
      return power(R(base), {static_cast<long>(exponent), 1});
    });
  };
  for (const double exponent : {-infinite, -3.0, -2.0, -0.5, 0.0, 0.5, 2.0, 3.0, 0x1p70, infinite, no_number})
    for (const double base : {-infinite, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, infinite, no_number})
      check_pow(base, exponent);
  // Between two integers no power of a negative number exists; near an integer it may exist.
  check_proofs(no_number, [](auto one) { return pow(-one - one, exp(one)); });
  check_undecided([](auto one) { return pow(-one - one, about_zero<decltype(one)>()); });
  check_proofs(infinite, [](auto one) {  // an even integer of 106 bits
    using R = decltype(one);
    return pow(-one - one, R(1e300) * R(0.3));
  });
  // Only even powers of a zero of unknown sign are known.
  const auto vanishing = [](auto one) {
    using R = decltype(one);
    return R(3.0) - R(3.0);
  };
  check_proofs(infinite, [&](auto one) { return power(vanishing(one), {-2, 1}); });
  check_undecided([&](auto one) { return power(vanishing(one) * about_zero<decltype(one)>(), {-3, 1}); });
}
