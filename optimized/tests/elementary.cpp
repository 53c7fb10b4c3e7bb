// Compares exp and log1p of the kernels with long double, stratified by exponent. The bounds are those that
// kernels/exp.ipp and kernels/log1p.ipp state. Those of f64 are rounded up, because only samples were measured.
#include <algorithm>

#include "optimized/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

// An ulp of Real at an exact number.
template <class Real>
long double ulp(long double exact) {
  using limits = std::numeric_limits<Real>;
  const int exponent = exact == 0 ? limits::min_exponent - 1 : std::max(std::ilogb(exact), limits::min_exponent - 1);
  return ldexpl(1, exponent + 1 - limits::digits);
}

template <class Real>
struct worst_case {
  long double error_ulp = 0;
  Real argument = 0;
  std::size_t samples = 0;
};

template <class Real>
using function = void (*)(const Real*, Real*, std::size_t) noexcept;
using oracle = long double (*)(long double);

// Adds the arguments x to `worst`, which keeps the largest error of f against `exact`. NaN counts as an infinite error.
template <class Real>
void measure(worst_case<Real>& worst, function<Real> f, oracle exact, const std::vector<Real>& x) {
  std::vector<Real> y(x.size());
  f(x.data(), y.data(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double truth = exact(x[i]);
    const long double error = std::fabs(y[i] - truth) / ulp<Real>(truth);
    if (!(error <= worst.error_ulp)) worst = {std::isnan(error) ? inf<Real> : error, x[i], worst.samples};
  }
  worst.samples += x.size();
}

// Measures `per_exponent` arguments in every binade [2^k, 2^(k+1)), from the subnormals to k = high. Magnitudes above
// `limit` are left out.
template <class Real>
worst_case<Real> stratified(function<Real> f, oracle exact, Real sign, int high, Real limit, std::size_t per_exponent) {
  using limits = std::numeric_limits<Real>;
  worst_case<Real> worst;
  generator random(17);
  for (int k = limits::min_exponent - limits::digits; k <= high; ++k) {
    std::vector<Real> x;
    for (std::size_t i = 0; i < per_exponent; ++i) {
      const Real magnitude = static_cast<Real>(std::ldexp(1 + random.uniform(0, 1), k));
      if (magnitude <= limit) x.push_back(sign * magnitude);
    }
    measure(worst, f, exact, x);
  }
  return worst;
}

// Consecutive values of [low, high] around a point where a branch or a rounding changes.
template <class Real>
std::vector<Real> neighbourhood(Real centre, Real low, Real high) {
  std::vector<Real> x;
  Real below = centre, above = centre;
  for (int i = 0; i < 2000; ++i) {
    if (below >= low) x.push_back(below);
    if (above <= high) x.push_back(above);
    below = std::nextafter(below, -inf<Real>);
    above = std::nextafter(above, inf<Real>);
  }
  return x;
}

template <class Real>
void check_bounds(Real exp_limit, long double exp_bound, long double log1p_bound, std::size_t samples) {
  const auto& k = kernels_for<Real>(active_kernels());
  auto exp_worst = stratified<Real>(k.exp, expl, -1, std::ilogb(exp_limit), exp_limit, samples);
  for (int n = 1; n < exp_limit / 0.7; ++n)  // points where the nearest integer of x / log 2 changes
    measure(exp_worst, k.exp, expl,
            neighbourhood<Real>(static_cast<Real>((0.5 - n) * 0.69314718055994531), -exp_limit, 0));
  CAPTURE(exp_worst.argument, exp_worst.samples);
  CHECK(exp_worst.error_ulp < exp_bound);

  auto log1p_worst = stratified<Real>(k.log1p, log1pl, 1, 0, 1, samples);
  measure(log1p_worst, k.log1p, log1pl, neighbourhood<Real>(Real(0.5), 0, 1));
  measure(log1p_worst, k.log1p, log1pl, neighbourhood<Real>(Real(1), 0, 1));
  CAPTURE(log1p_worst.argument, log1p_worst.samples);
  CHECK(log1p_worst.error_ulp < log1p_bound);
}

template <class Real>
Real call(function<Real> f, Real x) {
  Real y = 0;
  f(&x, &y, 1);
  return y;
}

}  // namespace

TEST_CASE("optimized/elementary/error_below_one_ulp", "[optimized]") {
  on_every_target([] {
    check_bounds<float>(104, 0.783L, 0.914L, scaled(2000));
    check_bounds<double>(745.5, 0.82L, 0.92L, scaled(200));
  });
}

TEST_CASE("optimized/elementary/error_below_one_ulp_soak", "[.][soak]") {
  on_every_target([] {
    check_bounds<float>(104, 0.783L, 0.914L, scaled(200000));
    check_bounds<double>(745.5, 0.82L, 0.92L, scaled(100000));
  });
}

TEMPLATE_TEST_CASE("optimized/elementary/recorded_witnesses", "[optimized]", float, double) {
  constexpr bool single = sizeof(TestType) == sizeof(float);
  const TestType exp_argument = single ? TestType(-0x1.5ec446p+6) : TestType(-0x1.62607ea79089cp+9);
  const TestType log1p_argument = single ? TestType(0x1.fbf1d8p-2) : TestType(0x1.ff951ea0bfda5p-2);
  on_every_target([&] {
    const auto& k = kernels_for<TestType>(active_kernels());
    worst_case<TestType> exp_case, log1p_case;
    measure(exp_case, k.exp, expl, {exp_argument});
    measure(log1p_case, k.log1p, log1pl, {log1p_argument});
    CHECK(static_cast<double>(exp_case.error_ulp) == Approx(single ? 0.7827 : 0.8120).margin(1e-4));
    CHECK(static_cast<double>(log1p_case.error_ulp) == Approx(single ? 0.9135 : 0.9116).margin(1e-4));
  });
}

TEMPLATE_TEST_CASE("optimized/elementary/special_values", "[optimized]", float, double) {
  using limits = std::numeric_limits<TestType>;
  on_every_target([] {
    const auto& k = kernels_for<TestType>(active_kernels());
    CHECK(call(k.exp, TestType(0)) == 1);
    CHECK(call(k.exp, TestType(-0.0)) == 1);
    CHECK(call(k.exp, -inf<TestType>) == 0);
    CHECK(call(k.exp, -limits::max()) == 0);
    CHECK(call(k.exp, -limits::denorm_min()) == 1);
    CHECK(std::isnan(call(k.exp, nan<TestType>)));
    CHECK(call(k.log1p, TestType(0)) == 0);
    CHECK(call(k.log1p, limits::denorm_min()) == limits::denorm_min());
    CHECK(call(k.log1p, limits::min()) == limits::min());
    CHECK(call(k.log1p, TestType(1)) == static_cast<TestType>(0.693147180559945309417L));
    CHECK(std::isnan(call(k.log1p, nan<TestType>)));
    // The smallest positive results, and the first argument that gives 0.
    const bool single = sizeof(TestType) == sizeof(float);
    CHECK(call(k.exp, TestType(single ? -103.97 : -745.13)) == limits::denorm_min());
    CHECK(call(k.exp, TestType(single ? -103.98 : -745.14)) == 0);
  });
}

}  // namespace assay::optimized::tests
