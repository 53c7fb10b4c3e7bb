// Contractions with one bound for each sum: every sum of products of numbers within the balls is enclosed.
#include "reference/formula/ball_contraction.hpp"

#include <catch2/catch.hpp>

#include "reference/core/counter_random.hpp"
#include "reference/formula/interpreter.hpp"
#include "reference/readings/all.hpp"

using namespace assay::reference;
using namespace assay::reference::formula;

namespace {

using pairs = reals<double_ball>;

double centre_of(double x, assay::core::counter_random&) { return x; }
two_double centre_of(two_double x, assay::core::counter_random& random) {
  return random.below(2) == 0 ? x : two_double(exact_sum(x.high, random.normal() * 0x1p-54 * x.high));
}

// Balls of sizes from 2^-low to 2^high; a third of them are exact.
template <class Number>
reals<ball<Number>> drawn(std::size_t count, int low, int high, assay::core::counter_random& random) {
  reals<ball<Number>> all;
  for (std::size_t k = 0; k < count; ++k) {
    const double x =
        std::ldexp(random.normal(), static_cast<int>(random.below(static_cast<std::uint64_t>(low + high))) - low);
    const double radius =
        random.below(3) == 0 ? 0.0 : std::fabs(x) * (sizeof(Number) > sizeof(double) ? 0x1p-90 : 0x1p-40);
    all.emplace_back(centre_of(Number(x), random), radius);
  }
  return all;
}

template <class Number>
enclosure exactly(const Number& x) {
  return enclosure(leading(x)) + enclosure(trailing(x));
}
// A number at one of the ends of a ball, or at its centre.
template <class Number>
enclosure within(const ball<Number>& b, assay::core::counter_random& random) {
  const double share = static_cast<double>(random.below(3)) - 1.0;
  return exactly(b.centre) + enclosure(share) * enclosure(b.radius);
}

}  // namespace

TEMPLATE_TEST_CASE("formula/ball_contraction/encloses_the_sum_of_numbers_within", "[property]", double, two_double) {
  const contraction letters{"ik", "kj", "ij"};
  const computing_with_digits digits(700);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    assay::core::counter_random random(seed);
    const std::size_t i = 1 + random.below(3), j = 1 + random.below(3), k = 8 + random.below(40);
    // The sizes include those where products underflow.
    const int low = seed % 3 == 0 ? 1060 : seed % 3 == 1 ? 540 : 20, high = seed % 2 == 0 ? 20 : 1;
    const auto x = drawn<TestType>(i * k, low, high, random), y = drawn<TestType>(k * j, low, high, random);
    const contracted_places places(letters, {i, j}, {i, k}, {k, j});
    const auto made = contracted_by_bounds(x, y, places);
    REQUIRE(made.has_value());
    for (std::size_t row = 0; row < i; ++row)
      for (std::size_t column = 0; column < j; ++column) {
        enclosure sum(0.0);
        for (std::size_t t = 0; t < k; ++t)
          sum = sum + within(x[row * k + t], random) * within(y[t * j + column], random);
        const ball<TestType>& b = (*made)[row * j + column];
        INFO("seed " << seed << ": " << leading(b.centre) << " +- " << b.radius);
        const enclosure distance = sum - exactly(b.centre);
        CHECK(mpfr_cmp_d(distance.high(), b.radius) <= 0);
        CHECK(mpfr_cmp_d(distance.low(), -b.radius) >= 0);
      }
  }
}

TEST_CASE("formula/ball_contraction/leaves_short_sums_and_infinities_to_the_balls", "[unit]") {
  const contraction letters{"k", "k", ""};
  const auto sums = [&](const pairs& x, const pairs& y) {
    return contracted_by_bounds(x, y, contracted_places(letters, {}, {x.size()}, {y.size()}));
  };
  CHECK_FALSE(sums(pairs(7, double_ball(1.0)), pairs(7, double_ball(2.0))));
  pairs ones(9, double_ball(1.0));
  REQUIRE(sums(ones, ones));
  CHECK(sums(ones, ones)->front().centre == 9.0);
  ones[4] = double_ball(std::numeric_limits<double>::infinity());
  CHECK_FALSE(sums(ones, pairs(9, double_ball(1.0))));
  ones[4] = double_ball::unknown();
  CHECK_FALSE(sums(ones, pairs(9, double_ball(1.0))));
  // A sum that overflows is unknown.
  const pairs large(9, double_ball(1e300));
  REQUIRE(sums(large, large));
  CHECK(sums(large, large)->front().is_unknown());
}

TEMPLATE_TEST_CASE("formula/ball_contraction/is_hardly_wider_than_balls", "[property]", double, two_double) {
  using number = ball<TestType>;
  const contraction letters{"ik", "kj", "ij"};
  assay::core::counter_random random(7);
  for (const std::size_t k : {std::size_t{64}, std::size_t{67}}) {
    const auto x = drawn<TestType>(4 * k, 3, 1, random), y = drawn<TestType>(4 * k, 3, 1, random);
    reals<number> a, b;
    for (const auto& z : x) a.push_back(number(z.centre, 0.0));
    for (const auto& z : y) b.push_back(number(z.centre, 0.0));
    const contracted_places places(letters, {4, 4}, {4, k}, {k, 4});
    const auto made = contracted_by_bounds(a, b, places);
    REQUIRE(made.has_value());
    for (std::size_t e = 0; e < 16; ++e) {
      accumulator<number> sum;
      for (std::size_t t = 0; t < k; ++t) sum.add_product(a[e / 4 * k + t], b[t * 4 + e % 4]);
      CHECK((*made)[e].radius <= (std::is_same_v<TestType, double> ? 16.0 : 2.0) * sum.total().radius);
    }
  }
}

TEST_CASE("formula/ball_contraction/of_two_doubles_is_exact_where_nothing_is_lost", "[unit]") {
  const contraction letters{"k", "k", ""};
  assay::core::counter_random random(3);
  // Products and sums of doubles that two doubles hold.
  reals<two_double_ball> x, y;
  for (std::size_t k = 0; k < 37; ++k) {
    x.emplace_back(1.0 + static_cast<double>(random.below(1U << 20U)) * 0x1p-50);
    y.emplace_back(static_cast<double>(random.below(1U << 20U)) * 0x1p-50 - 1.0);
  }
  const auto made = contracted_by_bounds(x, y, contracted_places(letters, {}, {37}, {37}));
  REQUIRE(made.has_value());
  CHECK(made->front().is_exact());
  CHECK(trailing(made->front().centre) != 0.0);
  // A sum is not exact where a radius changes it by less than the smallest number.
  x.assign(8, two_double_ball(0.0));
  y.assign(8, two_double_ball(0x1p-600));
  x.front() = two_double_ball(two_double(0.0), 0x1p-1000);
  CHECK_FALSE(contracted_by_bounds(x, y, contracted_places(letters, {}, {8}, {8}))->front().is_exact());
  // A number that is too large for the halves of products, times 0.
  y.front() = two_double_ball(0x1p1010);
  x.front() = two_double_ball(0.0);
  CHECK(contracted_by_bounds(x, y, contracted_places(letters, {}, {8}, {8}))->front().is_exact_zero());
}
