// Compares the Jacobian-vector products with a long double recurrence, and tests their exact identities.
#include <numeric>

#include "optimized/tests/tangent_problem.hpp"

namespace assay::optimized::tests {
namespace {

// Returns the largest ratio of the error to the bound of kernels/scan_jvp.ipp, for given states.
template <class Real>
long double worst_tangent(const tangent_problem<Real>& p) {
  const long double u = unit_roundoff<Real>;
  long double worst = 0;
  for (std::size_t b = 0; b < p.shape.batch; ++b)
    for (std::size_t j = 0; j < p.shape.features; ++j) {
      long double exact = p.ds0[p.row(b, j)], error = 0;
      for (std::size_t i = 0; i < p.shape.tokens; ++i) {
        const std::size_t index = p.index(b, i, j);
        const long double previous = i == 0 ? p.s0[p.row(b, j)] : p.s[p.index(b, i - 1, j)];
        const long double given = p.decay[index], log_p = p.gated ? oracle_log_sigmoid(given) : given;
        const long double d_log_p = (p.gated ? oracle_sigmoid(-given) : 1) * p.d_decay[index];
        const long double past = log_p + previous, z = past - p.h[index];
        const long double w = oracle_sigmoid(z), v = oracle_sigmoid(-z), t = d_log_p + exact, dh = p.dh[index];
        const long double size_of_state = std::fmax(std::fabs(past), std::fabs(static_cast<long double>(p.h[index])));
        const long double delta = u * (6 + size_of_state + (p.gated ? 4 : 1) * std::fabs(log_p) + std::fabs(z) / 16);
        exact = w * t + v * dh;
        error = w * (error + (p.gated ? 7 : 1) * u * std::fabs(d_log_p)) +
                std::fmin(w, v) * (delta + 2 * u) * (std::fabs(t) + std::fabs(dh));
        const long double bound = error + u * std::fabs(exact) + std::numeric_limits<Real>::min();
        const long double ratio = std::fabs(p.ds[index] - exact) / bound;
        worst = std::isnan(ratio) ? inf<long double> : std::fmax(worst, ratio);
      }
      if (p.shape.tokens > 0 && p.ds_n[p.row(b, j)] != p.ds[p.index(b, p.shape.tokens - 1, j)])
        worst = inf<long double>;
    }
  return worst;
}

// Takes one step in all lanes of rows of several widths.
template <class Real>
Real step(Real log_p, Real s0, Real h, Real d_log_p, Real ds0, Real dh) {
  Real result{};
  for (const std::size_t width : {1u, 3u, 8u, 45u}) {
    tangent_problem<Real> p({1, 1, width}, false);
    p.decay.assign(width, log_p), p.h.assign(width, h), p.s0.assign(width, s0);
    p.d_decay.assign(width, d_log_p), p.dh.assign(width, dh), p.ds0.assign(width, ds0);
    p.push();
    result = p.ds.back();
    for (std::size_t j = 0; j < width; ++j) {
      REQUIRE(same(p.ds[j], result));
      REQUIRE(same(p.ds_n[j], result));
    }
  }
  return result;
}

}  // namespace

TEMPLATE_TEST_CASE("heinsen/scan:jvp/optimized_error", "[optimized][heinsen]", float, double) {
  on_every_target([] {
    for (const bool gated : {false, true})
      for (const scan_sizes sizes : {scan_sizes{2, 200, 37}, scan_sizes{1, 1500, 9}, scan_sizes{1, 4000, 1}})
        for (const double memory : {0.0, 4.0, 9.0}) {  // the last one gives decays near 1
          tangent_problem<TestType> p(sizes, gated, 3);
          for (TestType& x : p.decay)
            x = static_cast<TestType>(gated ? x + memory : static_cast<double>(x) * std::exp(-memory));
          p.push();
          CAPTURE(gated, sizes.tokens, sizes.features, memory);
          CHECK(worst_tangent(p) < 1);
        }
  });
}

// The error does not grow with the length where decays near 1 keep every contribution. There are few nonzero
// directions, so that the carried derivative is much larger than the amount that a step adds to it.
TEMPLATE_TEST_CASE("heinsen/scan:jvp/optimized_error_of_long_memory", "[optimized][heinsen]", float, double) {
  on_every_target([] {
    for (const std::size_t features : {1u, 8u, 40u})
      for (const double decay : {-1e-7, -1e-4, -0.03}) {
        tangent_problem<TestType> p({1, 60000 / features, features}, false, 5);
        generator random(6);
        for (TestType& x : p.decay) x = static_cast<TestType>(decay * random.uniform(0.5, 1.5));
        const double gathered = std::log(std::min(static_cast<double>(p.shape.tokens), -1 / decay));
        for (TestType& x : p.h) x -= static_cast<TestType>(gathered);
        for (TestType& x : p.d_decay) x = x > TestType(0.99) ? x : TestType(0);
        p.push();
        CAPTURE(features, decay);
        CHECK(worst_tangent(p) < 1);
      }
  });
}

// <cotangents, J direction> = <J^T cotangents, direction>. The two kernels share only the weights.
TEST_CASE("heinsen/scan:jvp/optimized_dot_product", "[optimized][heinsen]") {
  const auto dot = [](const std::vector<double>& x, const std::vector<double>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  };
  on_every_target([&] {
    for (const bool gated : {false, true})
      for (const std::size_t features : {1u, 40u}) {
        tangent_problem<double> p({2, 300, features}, gated, 7);
        p.push();
        p.backward();
        const double pushed = dot(p.grad_s, p.ds) + dot(p.grad_s_n, p.ds_n);
        const double pulled = dot(p.grad_decay, p.d_decay) + dot(p.grad_h, p.dh) + dot(p.grad_s0, p.ds0);
        CAPTURE(gated, features);
        CHECK(pushed == Approx(pulled).epsilon(0).margin(1e-12));
      }
  });
}

// An exact identity: shifting h and s0 by a number shifts s by this number.
TEMPLATE_TEST_CASE("heinsen/scan:jvp/optimized_shift", "[optimized][heinsen]", float, double) {
  const TestType shift = TestType(0.7);
  on_every_target([&] {
    for (const std::size_t features : {1u, 40u}) {
      tangent_problem<TestType> p({1, 500, features}, false, 4);
      p.d_decay.assign(p.h.size(), TestType(0));
      p.dh.assign(p.h.size(), shift), p.ds0.assign(features, shift);
      p.push();
      CHECK(std::all_of(p.ds.begin(), p.ds.end(), [&](TestType x) { return x == shift; }));
    }
  });
}

TEMPLATE_TEST_CASE("heinsen/scan:jvp/optimized_special_values", "[optimized][heinsen]", float, double) {
  using T = TestType;
  constexpr T infinite = inf<T>, unknown = nan<T>;
  struct row {
    T log_p, s0, h, d_log_p, ds0, dh, ds;
  };
  const row table[] = {
      // no past: derivatives that arrive from there have no effect
      {-infinite, 2, 3, 1, 5, 7, 7},
      {-infinite, 2, 3, unknown, infinite, 7, 7},
      {-1, -infinite, 3, 1, unknown, 7, 7},
      // no input
      {-1, 2, -infinite, 1, 5, 7, 6},
      {-1, 2, -infinite, 1, 5, unknown, 6},
      // neither past nor input
      {-1, -infinite, -infinite, 1, 5, 7, 0},
      {-infinite, 2, -infinite, unknown, infinite, unknown, 0},
      // equal terms, also infinite ones
      {0, 2, 2, 1, 5, 4, 5},
      {-1, infinite, infinite, 1, 5, 4, 5},
      {-1, infinite, 2, 1, 5, 4, 6},
      {-1, 2, infinite, 1, 5, 4, 4},
      // NaN in the values and in the direction
      {unknown, 2, 3, 1, 5, 7, unknown},
      {-1, unknown, -infinite, 1, 5, 7, unknown},
      {-1, -infinite, unknown, 1, 5, 7, unknown},
      {-1, 2, unknown, 1, 5, 7, unknown},
      {-1, 2, 3, unknown, 5, 7, unknown},
      {-1, 2, 3, 1, 5, unknown, unknown},
      // terms far apart, in both orders
      {0, 2000, -2000, 1, 5, 7, 6},
      {0, -2000, 2000, 1, 5, 7, 7},
  };
  on_every_target([&] {
    for (const row& r : table) {
      CAPTURE(r.log_p, r.s0, r.h, r.d_log_p, r.ds0, r.dh);
      const T found = step<T>(r.log_p, r.s0, r.h, r.d_log_p, r.ds0, r.dh);
      CHECK(same(found, r.ds));
    }
    // A lane recovers from numbers that are not finite, also in its low word. A gate at -inf cuts off the past, and a
    // gate at +inf keeps it.
    tangent_problem<T> p({1, 3, 20}, true);
    p.ds0.assign(20, infinite);
    for (std::size_t j = 0; j < 20; ++j) p.decay[p.index(0, 1, j)] = -infinite, p.decay[p.index(0, 2, j)] = infinite;
    for (std::size_t j = 0; j < 20; ++j) p.h[p.index(0, 2, j)] = -infinite;
    p.push();
    for (std::size_t j = 0; j < 20; ++j) {
      CHECK(std::isnan(p.ds[p.index(0, 0, j)]));
      CHECK(p.ds[p.index(0, 1, j)] == p.dh[p.index(0, 1, j)]);
      CHECK(p.ds[p.index(0, 2, j)] == p.ds[p.index(0, 1, j)]);  // at this gate the slope of log sigmoid is 0
      CHECK(p.ds_n_low[j] == 0);
    }
  });
}

// NaN stays in its lane, from its token on.
TEMPLATE_TEST_CASE("heinsen/scan:jvp/optimized_lane_independence", "[optimized][heinsen]", float, double) {
  constexpr std::size_t tokens = 5, width = 21;
  on_every_target([&] {
    for (const bool gated : {false, true}) {
      tangent_problem<TestType> clean({1, tokens, width}, gated);
      clean.push();
      for (std::size_t lane = 0; lane < width; ++lane) {
        tangent_problem<TestType> p({1, tokens, width}, gated);
        std::vector<TestType>* const inputs[] = {&p.decay, &p.h, &p.d_decay, &p.dh};
        (*inputs[lane % 4])[p.index(0, 2, lane)] = nan<TestType>;
        p.push();
        bool as_expected = true;
        for (std::size_t i = 0; i < tokens; ++i)
          for (std::size_t j = 0; j < width; ++j) {
            const TestType ds = p.ds[p.index(0, i, j)];
            as_expected = as_expected && (j == lane && i >= 2 ? std::isnan(ds) : ds == clean.ds[p.index(0, i, j)]);
          }
        CAPTURE(lane, gated);
        CHECK(as_expected);
      }
    }
  });
}

// The states are those of the scan. Neither threads nor the groups and slices that they take change a bit.
TEMPLATE_TEST_CASE("heinsen/scan:jvp/optimized_threads_agree", "[optimized][heinsen]", float, double) {
  for (const bool gated : {false, true})
    for (const scan_sizes sizes : {scan_sizes{3, 9, 2500}, scan_sizes{1, 60, 1100}, scan_sizes{2, 9000, 3}}) {
      on_every_target([&] {
        tangent_problem<TestType> expected(sizes, gated);
        set_threads(1);
        expected.push();
        scan_problem<TestType> states(sizes, gated);
        states.forward();
        CAPTURE(gated, sizes.tokens, sizes.features);
        CHECK(same_bits(expected.s, states.s));
        CHECK(same_bits(expected.s_n, states.s_n));
        CHECK(same_bits(expected.s_n_low, states.s_n_low));
        for (const int count : {2, 3}) {
          set_threads(count);
          REQUIRE(threads() == count);
          tangent_problem<TestType> p(sizes, gated);
          p.push();
          CHECK(same_tangents(p, expected));
        }
      });
      set_threads(0);
    }
}

// Chunks that hand on both words of the state and of its derivative give the bits of the whole scan.
TEMPLATE_TEST_CASE("heinsen/scan:jvp/optimized_chunks", "[optimized][heinsen]", float, double) {
  using T = TestType;
  on_every_target([] {
    tangent_problem<T> p({2, 200, 40}, true, 5);
    for (T& g : p.decay) g += 6;  // a long memory
    tangent_problem<T> q = p;
    p.push();
    CHECK(std::any_of(p.ds_n_low.begin(), p.ds_n_low.end(), [](T x) { return x != 0; }));
    std::vector<T> s = q.s0, s_low(s.size()), ds = q.ds0, ds_low(s.size());
    for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{0, 130}, {130, 130}, {130, 131}, {131, 200}}) {
      const auto part = [begin = begin, end = end](auto v) {
        v.data = v.at(0u, begin, 0u), v.shape[1] = end - begin;
        return v;
      };
      const auto& in = std::as_const(q);
      heinsen::gated_scan_jvp<T>(process_execution(),
                                 {part(q.elements(in.decay)), part(q.elements(in.h)), q.states(std::as_const(s)),
                                  q.states(std::as_const(s_low))},
                                 {part(q.elements(in.d_decay)), part(q.elements(in.dh)), q.states(std::as_const(ds)),
                                  q.states(std::as_const(ds_low))},
                                 {part(q.elements(q.s)), q.states(q.s_n), q.states(q.s_n_low)},
                                 {part(q.elements(q.ds)), q.states(q.ds_n), q.states(q.ds_n_low)});
      s = q.s_n, s_low = q.s_n_low, ds = q.ds_n, ds_low = q.ds_n_low;
    }
    CHECK(same_tangents(q, p));
  });
}

// All memory around rows of `width` features keeps its value. Rows of each array have a length of their own, which
// changes no bit. Long rows are stored around the caches if they begin where a register begins.
TEMPLATE_TEST_CASE("heinsen/scan:jvp/optimized_strides_and_guard_bands", "[optimized][heinsen]", float, double) {
  on_every_target([] {
    for (const scan_sizes sizes : {scan_sizes{2, 3, 1}, scan_sizes{2, 3, 17}, scan_sizes{2, 3, 63},
                                   scan_sizes{2, 3, 70}, scan_sizes{1, 300, 3}, scan_sizes{2, 20, 5000}}) {
      const auto [batch, tokens, width] = sizes;
      tangent_problem<TestType> p(sizes, false);
      p.push();
      const auto spread = [&, width = width](const std::vector<TestType>& from, std::size_t gap) {
        std::vector<TestType> to(from.size() / width * (width + gap), TestType(-12345));
        for (std::size_t row = 0; row < from.size() / width; ++row)
          std::copy_n(from.data() + row * width, width, to.data() + row * (width + gap));
        return to;
      };
      const auto inside = [batch = batch, tokens = tokens, width = width](auto& array, std::size_t gap) {
        auto v = dense<std::remove_reference_t<decltype(array[0])>, 3>(array.data(), {batch, tokens, width + gap});
        v.shape[2] = width;
        return v;
      };
      const auto decay = spread(p.decay, 3), h = spread(p.h, 0), d_decay = spread(p.d_decay, 5), dh = spread(p.dh, 1);
      const std::vector<TestType> blank(p.s.size(), TestType(1));
      auto s = spread(blank, 2), ds = spread(blank, 4);
      std::vector<TestType> s_n(p.s_n.size()), ds_n(p.ds_n.size());
      heinsen::scan_jvp<TestType>(process_execution(), {inside(decay, 3), inside(h, 0), p.states(std::as_const(p.s0))},
                                  {inside(d_decay, 5), inside(dh, 1), p.states(std::as_const(p.ds0))},
                                  {inside(s, 2), p.states(s_n)}, {inside(ds, 4), p.states(ds_n)});
      CAPTURE(tokens, width);
      CHECK(same_bits(s, spread(p.s, 2)));
      CHECK(same_bits(ds, spread(p.ds, 4)));
      CHECK(same_bits(s_n, p.s_n));
      CHECK(same_bits(ds_n, p.ds_n));
    }
  });
}

TEST_CASE("heinsen/scan:jvp/optimized_empty_sizes_and_workspace", "[optimized][heinsen]") {
  tangent_problem<double> allocated({2, 50, 40}, false, 4), given = allocated;
  std::vector<std::byte> workspace(5 * 2 * 40 * sizeof(double) + 64);
  allocated.push();
  given.push(workspace);
  CHECK(same_tangents(given, allocated));
  tangent_problem<float> none({2, 0, 3}, true);
  none.push();
  CHECK(none.ds_n == none.ds0);
  CHECK(none.s_n == none.s0);
  tangent_problem<float> no_features({2, 4, 0}, false);
  CHECK_NOTHROW(no_features.push());
  tangent_problem<float> wrong({2, 4, 3}, false);
  const auto rows = [](std::vector<float>& x, std::size_t n) { return dense<float, 3>(x.data(), {2, n, 3}); };
  const auto call = [&](std::size_t tokens_of_direction) {
    heinsen::scan_jvp<float>(process_execution(), {rows(wrong.decay, 4), rows(wrong.h, 4)},
                             {rows(wrong.d_decay, tokens_of_direction), rows(wrong.dh, 4)},
                             {rows(wrong.s, 4), wrong.states(wrong.s_n)},
                             {rows(wrong.ds, 4), wrong.states(wrong.ds_n)});
  };
  CHECK_NOTHROW(call(4));
  CHECK_THROWS_AS(call(3), core::contract_violation);
}

}  // namespace assay::optimized::tests
