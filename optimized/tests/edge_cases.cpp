// Special values of the scans and of their adjoint, in every lane of rows of several widths.
#include "optimized/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

// The result of one token in all lanes of a row. Lane `width - 1` is reported, and the other lanes must agree with it.
template <class Real>
struct one_token {
  Real s, w, v;
};

template <class Real>
one_token<Real> step(Real log_p, Real s0, Real h, Real lambda = 1) {
  one_token<Real> result{};
  for (const std::size_t width : {1u, 3u, 8u, 45u}) {
    scan_problem<Real> p({1, 1, width}, false);
    p.decay.assign(width, log_p), p.h.assign(width, h), p.s0.assign(width, s0);
    p.grad_s.assign(width, lambda), p.grad_s_n.assign(width, Real(0));
    p.run();
    result = {p.s.back(), p.grad_decay.back(), p.grad_h.back()};
    for (std::size_t j = 0; j < width; ++j) {
      REQUIRE(same(p.s[j], result.s));
      REQUIRE(same(p.s_n[j], result.s));
      REQUIRE(same(p.grad_decay[j], result.w));
      REQUIRE(same(p.grad_s0[j], result.w));
      REQUIRE(same(p.grad_h[j], result.v));
    }
  }
  return result;
}

}  // namespace

TEMPLATE_TEST_CASE("heinsen/scan/optimized_edge_cases", "[optimized][heinsen]", float, double) {
  using T = TestType;
  constexpr T infinite = inf<T>;
  struct row {
    T log_p, s0, h, s, w, v;
  };
  const T largest = std::numeric_limits<T>::max(), half = T(0.5);
  const row table[] = {
      // p = 0, an empty past, an empty input, nothing at all
      {-infinite, 2, 3, 3, 0, 1},
      {T(-1), -infinite, 3, 3, 0, 1},
      {T(-1), 2, -infinite, 1, 1, 0},
      {T(-1), -infinite, -infinite, -infinite, 0, 0},
      {-infinite, 2, -infinite, -infinite, 0, 0},
      {-infinite, -infinite, -infinite, -infinite, 0, 0},
      // p = 1, both zeros
      {T(0), 0, -infinite, 0, 1, 0},
      {T(0), 2, 2, T(2.693147180559945309417L), half, half},
      {T(-0.0), 2, 2, T(2.693147180559945309417L), half, half},
      // +inf
      {T(-1), 2, infinite, infinite, 0, 1},
      {T(-1), infinite, 2, infinite, 1, 0},
      {T(-1), infinite, infinite, infinite, half, half},
      {T(-1), infinite, -infinite, infinite, 1, 0},
      {-infinite, 2, infinite, infinite, 0, 1},
      // huge magnitudes
      {T(0), largest, -largest, largest, 1, 0},
      {T(0), -largest, largest, largest, 0, 1},
      {-largest, -largest, T(5), 5, 0, 1},
      {-largest, -largest, -infinite, -infinite, 0, 0},
  };
  on_every_target([&] {
    for (const row& r : table) {
      CAPTURE(r.log_p, r.s0, r.h);
      const auto y = step<T>(r.log_p, r.s0, r.h);
      CHECK(y.s == r.s);
      CHECK(y.w == r.w);
      CHECK(y.v == r.v);
    }
  });
}

TEMPLATE_TEST_CASE("heinsen/scan/optimized_nan_of_one_step", "[optimized][heinsen]", float, double) {
  using T = TestType;
  on_every_target([] {
    for (const T other : {T(2), -inf<T>, inf<T>, nan<T>}) {
      CAPTURE(other);
      CHECK(std::isnan(step<T>(nan<T>, other, 1).s));
      CHECK(std::isnan(step<T>(-1, nan<T>, other).s));
      CHECK(std::isnan(step<T>(-1, other, nan<T>).s));
      CHECK(std::isnan(step<T>(-inf<T>, nan<T>, other).s));
      CHECK(std::isnan(step<T>(nan<T>, 1, other).w));
    }
    CHECK(std::isnan(step<T>(-inf<T>, inf<T>, 1).s));  // 0 times infinity
  });
}

// A weight that the table sets to 0 makes 0 of every number, whatever the number is.
TEMPLATE_TEST_CASE("heinsen/scan:vjp/optimized_table_of_empty_states", "[optimized][heinsen]", float, double) {
  using T = TestType;
  on_every_target([] {
    for (const T lambda : {T(3), inf<T>, nan<T>}) {
      CAPTURE(lambda);
      const auto nothing = step<T>(-1, -inf<T>, -inf<T>, lambda);
      CHECK((nothing.w == 0 && nothing.v == 0));
      const auto reset = step<T>(-inf<T>, 2, 3, lambda);
      CHECK((reset.w == 0 && same(reset.v, lambda)));
      const auto padding = step<T>(-1, 2, -inf<T>, lambda);
      CHECK((same(padding.w, lambda) && padding.v == 0));
    }
  });
}

TEMPLATE_TEST_CASE("heinsen/gated_scan/optimized_edge_cases", "[optimized][heinsen]", float, double) {
  using T = TestType;
  on_every_target([] {
    scan_problem<T> p({1, 1, 5}, true);
    p.decay = {-inf<T>, inf<T>, nan<T>, T(0), T(-300)};
    p.h.assign(5, -inf<T>), p.s0.assign(5, T(2)), p.grad_s.assign(5, T(1)), p.grad_s_n.assign(5, T(0));
    p.run();
    const T expected[] = {-inf<T>, 2, nan<T>, static_cast<T>(2 - 0.693147180559945309417L), -298};
    const T slope[] = {0, 0, nan<T>, T(0.5), 1};
    for (std::size_t j = 0; j < 5; ++j) {
      CAPTURE(j);
      CHECK((same(p.s[j], expected[j]) || std::fabs(p.s[j] - expected[j]) < 2 * std::numeric_limits<T>::epsilon()));
      CHECK(same(p.grad_decay[j], slope[j]));
    }
    // log sigmoid keeps its digits where sigmoid rounds to 1, and it does not underflow where exp does.
    scan_problem<T> far({1, 1, 2}, true);
    far.decay = {T(40), T(-1e4)};
    far.h.assign(2, -inf<T>), far.s0.assign(2, T(0));
    far.forward();
    CHECK(static_cast<double>(far.s[0]) == Approx(-4.248354255291589e-18).epsilon(4e-7));
    CHECK(far.s[1] == T(-1e4));
  });
}

TEMPLATE_TEST_CASE("heinsen/scan/optimized_small_and_large_increments", "[optimized][heinsen]", float, double) {
  using T = TestType;
  on_every_target([] {
    const bool single = sizeof(T) == sizeof(float);
    // LSE(0, -x) = e^-x for all increments that are not negligible (kernels/softplus.ipp).
    const T last = single ? T(-79.9) : T(-689.9), first = single ? T(-80) : T(-690);
    CHECK(static_cast<double>(step<T>(0, 0, last).s) ==
          Approx(std::exp(static_cast<double>(last))).epsilon(4 * std::numeric_limits<T>::epsilon()));
    CHECK(step<T>(0, 0, first).s == 0);
    // At p = 1, even increments below the unit roundoff move a counter away from 0.
    CHECK(step<T>(0, 0, T(-20)).s == Approx(2.0611536203e-9).epsilon(1e-6));
    // The identity element changes no bit.
    CHECK(step<T>(0, T(0.7), -inf<T>).s == T(0.7));
  });
}

}  // namespace assay::optimized::tests
