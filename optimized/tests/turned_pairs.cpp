// Turns pairs by the rotations of their tokens and compares them with MPFR. Tests layouts, lanes, and the memory around
// the pairs.
#include <algorithm>
#include <array>

#include "optimized/tests/exact_rotation.hpp"
#include "optimized/tests/support.hpp"
#include "optimized/token_rotations.hpp"

namespace assay::optimized::tests {
namespace {

/// Tokens at positions, with all their arrays.
template <class Real>
struct turn_problem {
  rotary_shape shape;
  std::vector<double> positions;
  std::vector<frequency> theta;
  std::vector<Real> x, y;

  turn_problem(rotary_shape s, std::uint64_t seed) : shape(s) {
    generator random(seed);
    for (std::size_t i = 0; i < s.tokens; ++i) positions.push_back(std::floor(std::exp2(random.uniform(0, 31))));
    for (std::size_t t = 0; t < s.pairs; ++t)
      theta.push_back(geometric_frequency(10000, static_cast<long>(t), static_cast<long>(s.pairs)));
    x = uniform<Real>(random, s.tokens * s.heads * s.features, -1, 1);
    y.resize(x.size());
  }
  void run(bool back = false) { turn_to(y.data(), back); }
  void turn_to(Real* to, bool back = false) const {
    const std::array<std::size_t, 4> all{1, shape.tokens, shape.heads, shape.features};
    turn_tokens<Real>(process_execution(), {shape.pairs, shape.half_split}, prepared_frequencies(theta),
                      dense<const double, 2>(positions.data(), {1, shape.tokens}), back,
                      dense<const Real, 4>(x.data(), all), dense<Real, 4>(to, all));
  }
  [[nodiscard]] std::size_t index(std::size_t token, std::size_t head) const {
    return (token * shape.heads + head) * shape.features;
  }
};

// Returns the largest error beyond half an ulp of the result, in units of the larger coordinate times 2^-53 (f32) or
// times 2^-78 + 2^-105 |angle| (f64).
template <class Real>
double excess_error(const turn_problem<Real>& p, bool back) {
  double worst = 0;
  exact_rotation exact;
  exact_number first, second, product;
  const auto check = [&](exact_number& truth, Real y, double size) {
    const double rounded = std::fabs(static_cast<double>(y));
    const Real ulp = std::nextafter(static_cast<Real>(rounded), inf<Real>) - static_cast<Real>(rounded);
    worst = std::max(worst, (truth.distance(static_cast<double>(y)) - static_cast<double>(ulp) / 2) / size);
  };
  for (std::size_t i = 0; i < p.shape.tokens; ++i)
    for (std::size_t t = 0; t < p.shape.pairs; ++t) {
      exact.find(back ? -p.positions[i] : p.positions[i], p.theta[t]);
      const double angle = std::fabs(exact.angle.rounded());
      const double unit = sizeof(Real) == sizeof(float) ? 0x1p-53 : 0x1p-78 + 0x1p-105 * angle;
      for (std::size_t head = 0; head < p.shape.heads; ++head) {
        const std::size_t index = p.index(i, head);
        const auto a = static_cast<double>(p.x[index + p.shape.first(t)]),
                   b = static_cast<double>(p.x[index + p.shape.second(t)]);
        mpfr_mul_d(first.value, exact.cosine.value, a, MPFR_RNDN);
        mpfr_mul_d(product.value, exact.sine.value, b, MPFR_RNDN);
        mpfr_sub(first.value, first.value, product.value, MPFR_RNDN);
        mpfr_mul_d(second.value, exact.sine.value, a, MPFR_RNDN);
        mpfr_mul_d(product.value, exact.cosine.value, b, MPFR_RNDN);
        mpfr_add(second.value, second.value, product.value, MPFR_RNDN);
        check(first, p.y[index + p.shape.first(t)], unit * std::max(std::fabs(a), std::fabs(b)));
        check(second, p.y[index + p.shape.second(t)], unit * std::max(std::fabs(a), std::fabs(b)));
      }
    }
  return worst;
}

// Makes the first coordinates of the results cancel: b is about a cos / sin.
template <class Real>
void cancel(turn_problem<Real>& p) {
  exact_rotation exact;
  for (std::size_t i = 0; i < p.shape.tokens; ++i)
    for (std::size_t t = 0; t < p.shape.pairs; ++t) {
      exact.find(p.positions[i], p.theta[t]);
      Real* x = p.x.data() + p.index(i, 0);
      x[p.shape.second(t)] =
          static_cast<Real>(static_cast<double>(x[p.shape.first(t)]) * exact.cosine.rounded() / exact.sine.rounded());
    }
}

}  // namespace

TEMPLATE_TEST_CASE("optimized/turned_pairs/rounded_about_once", "[optimized][rope]", float, double) {
  on_every_target([] {
    for (const bool half_split : {false, true})
      for (const bool back : {false, true}) {
        turn_problem<TestType> p({scaled(40), 2, 67, 32, half_split}, 3);
        if (!back) cancel(p);
        p.run(back);
        CAPTURE(half_split, back);
        CHECK(excess_error(p, back) < 4);
      }
  });
}

// Pair t of a narrow head equals that of a wide head. Features that belong to no pair are copied, and nothing else is
// written.
TEMPLATE_TEST_CASE("optimized/turned_pairs/widths_layouts_and_guard_bands", "[optimized][rope]", float, double) {
  constexpr std::size_t tokens = 2, heads = 3, guard = 16;
  const TestType mark = TestType(-12345);
  turn_problem<TestType> wide({tokens, heads, 80, 40, true}, 5);
  REQUIRE(force_target("baseline"));
  wide.run();
  on_every_target([&] {
    for (std::size_t pairs = 0; pairs <= 40; ++pairs)
      for (const bool half_split : {false, true}) {
        const rotary_shape shape{tokens, heads, 2 * pairs + pairs % 4, pairs, half_split};
        turn_problem<TestType> p(shape, 7);
        p.positions = wide.positions;
        p.theta.assign(wide.theta.begin(), wide.theta.begin() + static_cast<std::ptrdiff_t>(pairs));
        const auto visit = [&](auto f) {
          for (std::size_t head = 0; head < tokens * heads; ++head)
            for (std::size_t t = 0; t < pairs; ++t) {
              const std::size_t to = head * shape.features, from = head * wide.shape.features;
              f(to + shape.first(t), from + wide.shape.first(t));
              f(to + shape.second(t), from + wide.shape.second(t));
            }
        };
        visit([&](std::size_t to, std::size_t from) { p.x[to] = wide.x[from]; });
        std::vector<TestType> expected = p.x, framed(guard + p.x.size() + guard, mark);
        visit([&](std::size_t to, std::size_t from) { expected[to] = wide.y[from]; });
        p.turn_to(framed.data() + guard);
        CAPTURE(pairs, half_split);
        const auto first = framed.begin() + guard, last = framed.end() - guard;
        CHECK(same_bits(std::vector<TestType>(first, last), expected));
        CHECK(std::count(framed.begin(), first, mark) + std::count(last, framed.end(), mark) == 2 * guard);
      }
  });
}

TEMPLATE_TEST_CASE("optimized/turned_pairs/threads_agree", "[optimized][rope]", float, double) {
  turn_problem<TestType> expected({200, 3, 38, 18, false}, 9), p = expected;
  set_threads(1);
  expected.run();
  for (const int count : {2, 3, 7}) {
    set_threads(count);
    std::fill(p.y.begin(), p.y.end(), TestType(0));
    p.run();
    CHECK(same_bits(p.y, expected.y));
  }
  set_threads(0);
}

// Angle 0 copies. Infinities and NaN stay in their pair, and an infinite sum does not become NaN.
TEMPLATE_TEST_CASE("optimized/turned_pairs/special_values", "[optimized][rope]", float, double) {
  using limits = std::numeric_limits<TestType>;
  on_every_target([] {
    for (const bool half_split : {false, true}) {
      turn_problem<TestType> p({1, 2, 22, 11, half_split}, 11);
      p.x[p.shape.first(0)] = limits::denorm_min(), p.x[p.shape.second(1)] = limits::max();
      p.positions = {0};
      p.run();
      CHECK(p.y == p.x);
      p.positions = {1};
      p.x[p.shape.second(1)] = 1, p.x[p.shape.first(2)] = inf<TestType>, p.x[p.shape.second(7)] = nan<TestType>;
      p.run();
      CHECK((p.y[p.shape.first(2)] == inf<TestType> && p.y[p.shape.second(2)] == inf<TestType>));
      CHECK((std::isnan(p.y[p.shape.first(7)]) && std::isnan(p.y[p.shape.second(7)])));
      for (std::size_t t = 0; t < p.shape.pairs; ++t)
        if (t != 2 && t != 7) CHECK(std::isfinite(p.y[p.shape.first(t)] + p.y[p.shape.second(t)]));
      p.theta[4].high = nan<double>;
      p.run();
      CHECK((std::isnan(p.y[p.shape.first(4)]) && std::isnan(p.y[p.shape.second(4)])));
      CHECK((std::isfinite(p.y[p.shape.first(3)]) && std::isfinite(p.y[p.shape.second(5)])));
    }
  });
}

}  // namespace assay::optimized::tests
