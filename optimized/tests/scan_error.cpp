// The forward scans against a long double loop: the error does not grow with the length, and chunks of time in lanes
// change nothing but last bits.
#include "optimized/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

struct family {
  const char* name;
  double low_decay, high_decay, low_h, high_h;  ///< ranges of log p and of h
};
constexpr family families[] = {{"forgetful", -4, 0, -3, 3},
                               {"long memory", -1e-5, 0, -16, -12},
                               {"slow equilibrium", -1e-3, -1e-3, -7, -7},
                               {"far apart", -69, 0, -1e4, 1e4},
                               {"large states", -1e-3, 0, 9000, 9020}};

template <class Real>
scan_problem<Real> drawn(const family& f, scan_sizes sizes) {
  scan_problem<Real> p(sizes, false);
  generator random(12);
  p.decay = uniform<Real>(random, p.decay.size(), f.low_decay, f.high_decay);
  p.h = uniform<Real>(random, p.h.size(), f.low_h, f.high_h);
  return p;
}

// Widths below and above the limit of chunks, also odd ones, and lengths that fill no block.
constexpr scan_sizes shapes[] = {{1, 3000, 37}, {2, 1000, 1}, {1, 20000, 1}, {1, 3001, 3}, {1, 9000, 8}};

}  // namespace

TEMPLATE_TEST_CASE("heinsen/scan/optimized_error_does_not_grow", "[optimized][heinsen]", float, double) {
  on_every_target([] {
    for (const family& f : families)
      for (const scan_sizes& sizes : shapes) {
        auto p = drawn<TestType>(f, sizes);
        p.forward();
        CAPTURE(f.name, sizes.tokens, sizes.features);
        CHECK(largest_error(p) < 2);
      }
  });
}

// A constant input drives the state to a fixed point, where roundings have the same sign in every step.
TEMPLATE_TEST_CASE("heinsen/scan/optimized_error_at_fixed_points", "[optimized][heinsen]", float, double) {
  on_every_target([] {
    scan_problem<TestType> p({1, 2000, 64}, false);
    generator random(5);
    const auto log_p = uniform<TestType>(random, 64, -2, -0.01), h = uniform<TestType>(random, 64, -5, 2);
    for (std::size_t i = 0; i < p.decay.size(); ++i) p.decay[i] = log_p[i % 64], p.h[i] = h[i % 64];
    p.forward();
    CHECK(largest_error(p) < 2);
  });
}

// A large state becomes a small one in one step. An ulp of the large state is many ulps of the small one, and this step
// forgets no error.
TEMPLATE_TEST_CASE("heinsen/scan/optimized_error_of_states_that_sink", "[optimized][heinsen]", float, double) {
  // The error of the oracle itself is half an ulp of long double of the large state.
  const double highest = std::is_same_v<TestType, float> ? 5e5 : 500;
  on_every_target([&] {
    for (const double level : {30.0, highest})
      for (const scan_sizes& sizes : shapes) {
        scan_problem<TestType> p(sizes, false);
        generator random(31);
        for (std::size_t i = 0; i < p.decay.size(); ++i) {
          const bool sinks = random.bits() % 8 == 0;
          p.decay[i] = static_cast<TestType>(random.uniform(-4, 0) - (sinks ? level : 0));
          p.h[i] = static_cast<TestType>(random.uniform(-3, 3) + (sinks ? -5 : level));
        }
        p.forward();
        CAPTURE(level, sizes.tokens, sizes.features);
        CHECK(largest_error(p) < 2);
      }
  });
}

TEMPLATE_TEST_CASE("heinsen/scan/optimized_chunks_threads_agree", "[optimized][heinsen]", float, double) {
  on_every_target([] {
    for (const bool gated : {false, true})
      for (const scan_sizes& sizes : {scan_sizes{1, 40000, 1}, scan_sizes{1, 9001, 8}, scan_sizes{2, 7000, 5}}) {
        scan_problem<TestType> expected(sizes, gated);
        set_threads(1);
        expected.forward();
        for (const int count : {2, 3, 7}) {
          set_threads(count);
          scan_problem<TestType> p(sizes, gated);
          p.forward();
          CHECK(
              (same_bits(p.s, expected.s) && same_bits(p.s_n, expected.s_n) && same_bits(p.s_n_low, expected.s_n_low)));
        }
        set_threads(0);
        const std::size_t last = expected.s.size() - expected.s_n.size() / sizes.batch;
        for (std::size_t j = 0; j < sizes.features; ++j)
          CHECK(expected.s_n[expected.row(sizes.batch - 1, j)] == expected.s[last + j]);
      }
  });
}

// If the state before a chunk is large, the last tokens of the chunk alone do not determine the state after it.
TEMPLATE_TEST_CASE("heinsen/scan/optimized_chunks_keep_a_large_past", "[optimized][heinsen]", float, double) {
  on_every_target([] {
    for (const std::size_t features : {1u, 3u}) {
      scan_problem<TestType> p({1, 20000, features}, false);
      p.decay.assign(p.decay.size(), TestType(-1)), p.s0.assign(features, TestType(15000));
      p.h[p.index(0, 11000, 0)] = 20000;
      p.forward();
      CHECK(largest_error(p) < 2);
    }
  });
}

TEMPLATE_TEST_CASE("heinsen/scan/optimized_chunks_special_values", "[optimized][heinsen]", float, double) {
  using T = TestType;
  on_every_target([] {
    for (const std::size_t features : {1u, 2u, 5u, 8u}) {
      CAPTURE(features);
      scan_problem<T> clean({1, 6000, features}, false, 3);
      for (std::size_t k = 0; k < clean.h.size(); ++k) {
        if (k % 97 == 0) clean.decay[k] = -inf<T>;
        if (k % 11 == 0) clean.h[k] = -inf<T>;
        if (k / features >= 3000 && k / features < 3900) clean.h[k] = -inf<T>;  // whole chunks without input
      }
      scan_problem<T> marked = clean;
      clean.forward();
      CHECK(largest_error(clean) < 2);
      // NaN and +inf stay in their lanes, from their tokens on.
      marked.h[marked.index(0, 4000, features - 1)] = nan<T>;
      marked.h[marked.index(0, 5000, 0)] = features > 1 ? inf<T> : T(0);
      marked.forward();
      CHECK(largest_error(marked) < 2);
      for (std::size_t j = 1; j + 1 < features; ++j)
        for (std::size_t i = 0; i < 6000; ++i)
          REQUIRE(same(marked.s[marked.index(0, i, j)], clean.s[clean.index(0, i, j)]));
    }
  });
}

// Strides change no bit: features last, tokens last, rows apart.
TEMPLATE_TEST_CASE("heinsen/scan/optimized_any_strides", "[optimized][heinsen]", float, double) {
  on_every_target([] {
    for (const scan_sizes& sizes : {scan_sizes{2, 50, 40}, scan_sizes{1, 3000, 3}}) {
      scan_problem<TestType> p(sizes, false);
      p.forward();
      std::vector<TestType> decay(p.decay.size()), h(decay.size()), s(decay.size()), s_n(p.s_n.size());
      const auto tokens_last = [&](auto& array) {
        auto v = dense<std::remove_reference_t<decltype(array[0])>, 3>(array.data(),
                                                                       {sizes.batch, sizes.features, sizes.tokens});
        std::swap(v.shape[1], v.shape[2]), std::swap(v.stride[1], v.stride[2]);
        return v;
      };
      const auto copy = [&](const std::vector<TestType>& from, std::vector<TestType>& to) {
        const auto v = tokens_last(to);
        for (std::size_t b = 0; b < sizes.batch; ++b)
          for (std::size_t i = 0; i < sizes.tokens; ++i)
            for (std::size_t j = 0; j < sizes.features; ++j) *v.at(b, i, j) = from[p.index(b, i, j)];
      };
      copy(p.decay, decay), copy(p.h, h);
      heinsen::scan<TestType>(process_execution(),
                              {tokens_last(std::as_const(decay)), tokens_last(std::as_const(h)), p.states(p.s0)},
                              {tokens_last(s), p.states(s_n)});
      std::vector<TestType> expected(s.size());
      copy(p.s, expected);
      CHECK((same_bits(s, expected) && same_bits(s_n, p.s_n)));
    }
  });
}

}  // namespace assay::optimized::tests
