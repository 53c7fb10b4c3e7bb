// The exponential of a skew-symmetric matrix, computed in two ways at two precisions.
#include "reference/algorithms/skew_exponential.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "reference/core/counter_random.hpp"
#include "reference/readings/all.hpp"

using namespace assay;
using namespace assay::reference;
using core::dtype;

namespace {

using entries = std::vector<double>;

// Entries of f32 whose size makes the 2-norm about `norm`: the part above the diagonal, and its negative below.
entries random_skew(std::size_t b, double norm, std::uint64_t seed) {
  core::counter_random random(seed);
  entries x(b * b, 0.0);
  const double size = b < 2 ? 0.0 : norm / (2.0 * std::sqrt(static_cast<double>(b)));
  for (std::size_t i = 0; i < b; ++i)
    for (std::size_t j = i + 1; j < b; ++j) {
      x[i * b + j] = static_cast<float>(size * random.normal());
      x[j * b + i] = -x[i * b + j];
    }
  return x;
}
entries random_entries(std::size_t b, std::uint64_t seed) {
  core::counter_random random(seed);
  entries g;
  for (std::size_t k = 0; k < b * b; ++k) g.push_back(static_cast<float>(random.normal()));
  return g;
}
double frobenius_norm(const entries& g) {
  double squares = 0.0;
  for (const double x : g) squares += x * x;
  return std::sqrt(squares);
}
template <class R>
square_matrix<R> lifted_matrix(const entries& x) {
  square_matrix<R> r;
  for (const double y : x) r.emplace_back(y);
  return r;
}
bool is_held(const enclosure& x, const value& y) {
  return mpfr_cmp(x.low(), y.number.backend().data()) <= 0 && mpfr_cmp(x.high(), y.number.backend().data()) >= 0;
}
template <class Number>
bool is_held(const ball<Number>& x, const value& y) {
  if (x.is_unknown()) return true;
  const value::real off = boost::multiprecision::abs(
      value::real(y.number - value::real(leading(x.centre)) - value::real(trailing(x.centre))));
  return off <= value::real(x.radius);
}
double width_of(const enclosure& x) {
  mpfr_t w;
  mpfr_init2(w, 53);
  mpfr_sub(w, x.high(), x.low(), MPFR_RNDU);
  const double d = mpfr_get_d(w, MPFR_RNDU);
  mpfr_clear(w);
  return d;
}
double apart(const value& x, const value& y) {
  return std::fabs(value::real(x.number - y.number).convert_to<double>());
}

}  // namespace

TEST_CASE("skew_exponential/two_ways", "[reference]") {
  for (const std::size_t b : {2, 3, 8})
    for (const double norm : {1e-3, 1.0, 17.0, 130.0}) {
      const entries x = random_skew(b, norm, b), g = random_entries(b, 7 * b);
      // The series without scaling: exp(130) costs 57 of 100 digits.
      const auto v = lifted_matrix<value>(x);
      square_matrix<value> slope = lifted_matrix<value>(g);
      const square_matrix<value> series = exponential_series(v, b, 600, slope), r = exponential_of(v, b),
                                 l = exponential_slope(v, lifted_matrix<value>(g), b);
      for (const unsigned digits : {35U, 80U}) {
        const computing_with_digits precision(digits);
        const auto e = exponential_of(lifted_matrix<enclosure>(x), b);
        const auto s = exponential_slope(lifted_matrix<enclosure>(x), lifted_matrix<enclosure>(g), b);
        for (std::size_t k = 0; k < b * b; ++k) {
          CHECK(is_held(e[k], r[k]));
          CHECK(is_held(s[k], l[k]));
          CHECK(width_of(e[k]) < std::pow(10.0, -static_cast<double>(digits)) * 1e3);
          CHECK(width_of(s[k]) < std::pow(10.0, -static_cast<double>(digits)) * 1e3);
        }
      }
      const auto one = exponential_of(lifted_matrix<double_ball>(x), b);
      const auto two = exponential_of(lifted_matrix<two_double_ball>(x), b);
      const auto slope_of_one = exponential_slope(lifted_matrix<double_ball>(x), lifted_matrix<double_ball>(g), b);
      const auto slope_of_two =
          exponential_slope(lifted_matrix<two_double_ball>(x), lifted_matrix<two_double_ball>(g), b);
      for (std::size_t k = 0; k < b * b; ++k) {
        CHECK(apart(series[k], r[k]) < 1e-40);
        CHECK(apart(slope[k], l[k]) < 1e-36);
        CHECK(is_held(one[k], r[k]));
        CHECK(is_held(two[k], r[k]));
        CHECK(is_held(slope_of_one[k], l[k]));
        CHECK(is_held(slope_of_two[k], l[k]));
        CHECK(one[k].radius < 1e-10);
        CHECK(two[k].radius < 1e-24);
        CHECK(slope_of_one[k].radius < 1e-8);
        CHECK(slope_of_two[k].radius < 1e-22);
      }
    }
}

TEST_CASE("skew_exponential/closed_forms", "[reference]") {
  for (const double a : {1e-3, 1.0, 130.0}) {
    const auto r = exponential_of(lifted_matrix<value>({0.0, -a, a, 0.0}), 2);
    CHECK(apart(r[0], cos(value(a))) < 1e-90);
    CHECK(apart(r[2], sin(value(a))) < 1e-90);
    CHECK(apart(r[1], -sin(value(a))) < 1e-90);
    // Rodrigues: 1 + sin a / a X + (1 - cos a) / a^2 X^2, a rotation about (2, 3, 6) / 7.
    const value angle = value(7.0) * value(a);
    const auto x = lifted_matrix<value>({0.0, -6.0 * a, 3.0 * a, 6.0 * a, 0.0, -2.0 * a, -3.0 * a, 2.0 * a, 0.0});
    const auto turned = exponential_of(x, 3), square = sum_of_products(3, x, x);
    for (std::size_t k = 0; k < 9; ++k) {
      const value rodrigues = value(k % 4 == 0 ? 1.0 : 0.0) + sin(angle) / angle * x[k] +
                              (value(1.0) - cos(angle)) / (angle * angle) * square[k];
      CHECK(apart(turned[k], rodrigues) < 1e-85);
    }
  }
}

TEST_CASE("skew_exponential/exact_parts", "[reference]") {
  // First no rotation; then a rotation of coordinates 0 and 2 of three.
  const auto identity = exponential_of(lifted_matrix<double_ball>(entries(9, 0.0)), 3);
  const entries x{0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0};
  const auto r = exponential_of(lifted_matrix<enclosure>(x), 3);
  for (std::size_t k = 0; k < 9; ++k) {
    CHECK((identity[k].is_exact() && to_double(identity[k]) == (k % 4 == 0 ? 1.0 : 0.0)));
    CHECK((k % 2 == 0 || r[k].is_zero()));
  }
  CHECK(to_double(r[4]) == 1.0);
  // L(0, G) = G.
  const auto slope =
      exponential_slope(lifted_matrix<enclosure>(entries(4, 0.0)), lifted_matrix<enclosure>({1, 2, 3, 0}), 2);
  CHECK((to_double(slope[2]) == 3.0 && slope[3].is_zero()));
  const auto nan = exponential_of(lifted_matrix<tracked>({0.0, NAN, NAN, 0.0}), 2);
  CHECK(std::isnan(to_double(nan[0])));
}

TEST_CASE("skew_exponential/derivative_by_differences", "[reference]") {
  const std::size_t b = 5;
  for (const double norm : {0.5, 30.0}) {
    const entries x = random_skew(b, norm, 3), e = random_skew(b, 1.0, 4);
    const value step(std::ldexp(1.0, -100));
    square_matrix<value> later, matrix = lifted_matrix<value>(x);
    for (std::size_t k = 0; k < b * b; ++k) later.push_back(value(x[k]) + step * value(e[k]));
    const auto r = exponential_of(matrix, b), moved = exponential_of(later, b),
               slope = exponential_slope(matrix, lifted_matrix<value>(e), b);
    for (std::size_t k = 0; k < b * b; ++k) CHECK(apart((moved[k] - r[k]) / step, slope[k]) < 1e-28);
  }
}

TEST_CASE("skew_exponential/wide_inputs", "[reference]") {
  // Interval inputs: the result encloses the exponentials of all matrices in the intervals.
  const std::size_t b = 4;
  const entries x = random_skew(b, 3.0, 11);
  square_matrix<enclosure> wide;
  square_matrix<double_ball> balls;
  square_matrix<value> inside;
  for (std::size_t k = 0; k < b * b; ++k) {
    const double off = x[k] == 0.0 ? 0.0 : std::copysign(1e-9, x[k]);
    wide.push_back(enclosure(x[k]) + enclosure(off) * (enclosure(1.0) / enclosure(3.0)));
    mpfr_set_d(wide.back().left(), std::min(x[k], x[k] + off), MPFR_RNDD);
    mpfr_set_d(wide.back().right(), std::max(x[k], x[k] + off), MPFR_RNDU);
    balls.emplace_back(x[k], std::fabs(off));
    inside.push_back(value(x[k]) + value(off) * value(0.75));
  }
  const auto r = exponential_of(inside, b);
  const auto e = exponential_of(wide, b);
  const auto balls_of_r = exponential_of(balls, b);
  const entries g = random_entries(b, 5);
  const auto l = exponential_slope(inside, lifted_matrix<value>(g), b);
  const auto s = exponential_slope(wide, lifted_matrix<enclosure>(g), b);
  for (std::size_t k = 0; k < b * b; ++k) {
    CHECK((is_held(e[k], r[k]) && width_of(e[k]) < 1e-7));
    CHECK((is_held(s[k], l[k]) && width_of(s[k]) < 1e-6));
    CHECK(is_held(balls_of_r[k], r[k]));
  }
}

TEST_CASE("skew_exponential/allowance", "[reference]") {
  for (const dtype type : {dtype::f32, dtype::f64})
    for (const std::size_t b : {1, 2, 3, 8, 16})
      for (const double norm : {1e-3, 0.1, 1.0, 10.0, 130.0}) {
        const computing_in format(type);
        const entries x = random_skew(b, norm, 17 + b), g = random_entries(b, b);
        const auto truth = exponential_of(lifted_matrix<value>(x), b),
                   truth_of_slope = exponential_slope(lifted_matrix<value>(x), lifted_matrix<value>(g), b);
        const auto plain = exponential_of(lifted_matrix<rounded>(x), b),
                   slope = exponential_slope(lifted_matrix<rounded>(x), lifted_matrix<rounded>(g), b);
        const auto allowed = exponential_of(lifted_matrix<tracked>(x), b),
                   allowed_slope =
                       exponential_slope(lifted_matrix<tracked>(x), lifted_matrix<tracked>(g), b, frobenius_norm(g));
        double largest = 0.0;
        for (std::size_t k = 0; k < b * b; ++k) {
          const auto share = [&](const rounded& y, const value& t, const tracked& a) {
            const double error = apart(value(y.number), t);
            return error == 0.0 ? 0.0 : error / (a.error * tracked::u());
          };
          largest = std::max(
              {largest, share(plain[k], truth[k], allowed[k]), share(slope[k], truth_of_slope[k], allowed_slope[k])});
        }
        INFO("b = " << b << ", norm " << norm << ": " << largest);
        CHECK(largest < 1.0);
        if (b > 1) CHECK(largest > 1e-4);  // the allowance does not permit just anything
      }
}

TEST_CASE("skew_exponential/large_blocks", "[reference]") {
  const std::size_t b = 64;
  const entries x = random_skew(b, 130.0, 64), g = random_entries(b, 65);
  const computing_with_digits precision(35);
  const auto e = exponential_of(lifted_matrix<enclosure>(x), b);
  const auto r = exponential_of(lifted_matrix<value>(x), b);
  const auto balls = exponential_of(lifted_matrix<two_double_ball>(x), b);
  double widest = 0.0;
  for (std::size_t k = 0; k < b * b; ++k) {
    CHECK((is_held(e[k], r[k]) && is_held(balls[k], r[k])));
    widest = std::max({widest, width_of(e[k]), balls[k].radius});
  }
  CHECK(widest < 1e-20);
  // The result is orthogonal: products of rows of R.
  for (const std::size_t i : {std::size_t{0}, std::size_t{40}})
    for (std::size_t j = 0; j < b; ++j) {
      value product(0.0);
      for (std::size_t k = 0; k < b; ++k) product = product + r[i * b + k] * r[j * b + k];
      CHECK(apart(product, value(i == j ? 1.0 : 0.0)) < 1e-90);
    }
}

// Run by name: measures how long an enclosure takes at the largest block.
TEST_CASE("skew_exponential/time_of_an_enclosure", "[.measure]") {
  const auto x = lifted_matrix<enclosure>(random_skew(64, 130.0, 64));
  const computing_with_digits precision(35);
  const auto begin = std::chrono::steady_clock::now();
  const auto e = exponential_of(x, 64);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  WARN("a block of 64 of norm 130 at 35 digits: " << seconds.count() << " s, width " << width_of(e.front()));
}
