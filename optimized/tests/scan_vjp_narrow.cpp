// Tests the adjoint of few features, which puts time in the lanes of registers: every width, special values, threads
// and strides.
#include <algorithm>

#include "optimized/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

// Blocks have up to 512 elements on one thread, and at least 2048 on several threads. Only the last block may end
// within a register.
constexpr std::size_t few_tokens[] = {64, 65, 71, 150, 2049};

scan_problem<float> with_resets(scan_sizes shape, bool gated, std::uint64_t seed) {
  scan_problem<float> p(shape, gated, seed);
  generator random(seed + 100);
  for (float& x : p.decay) x = random.uniform(0, 1) < 0.03 ? -inf<float> : x;
  for (float& x : p.h) x = random.uniform(0, 1) < 0.1 ? -inf<float> : x;
  p.s0[0] = -inf<float>;
  return p;
}

}  // namespace

TEST_CASE("heinsen/scan:vjp/optimized_few_features", "[optimized][heinsen]") {
  on_every_target([] {
    for (const bool gated : {false, true})
      for (std::size_t features = 1; features <= 17; ++features)
        for (const std::size_t tokens : few_tokens) {
          scan_problem<float> p = with_resets({1, tokens, features}, gated, features);
          p.run();
          CAPTURE(gated, features, tokens);
          CHECK(worst_gradient_error(p) < 20);
          bool nothing_from_nothing = true;
          for (std::size_t k = 0; k < p.h.size(); ++k) {
            nothing_from_nothing = nothing_from_nothing && (p.h[k] != -inf<float> || p.grad_h[k] == 0);
            nothing_from_nothing = nothing_from_nothing && (p.decay[k] != -inf<float> || p.grad_decay[k] == 0);
          }
          CHECK(nothing_from_nothing);
        }
  });
}

// A number that is not finite reaches the tokens before it, up to the next reset of its feature, and nothing else.
TEST_CASE("heinsen/scan:vjp/optimized_few_features_not_finite", "[optimized][heinsen]") {
  on_every_target([] {
    for (std::size_t features = 1; features <= 15; ++features) {
      constexpr std::size_t tokens = 100, reset = 40, bad = 70;
      scan_problem<float> clean({1, tokens, features}, false, features);
      for (std::size_t j = 0; j < features; ++j) clean.decay[clean.index(0, reset, j)] = -inf<float>;
      clean.run();
      for (std::size_t lane = 0; lane < features; ++lane)
        for (const float value : {nan<float>, inf<float>}) {
          scan_problem<float> p = clean;
          p.grad_s[p.index(0, bad, lane)] = value;
          p.backward();
          bool kept = true, spread = true;
          for (std::size_t i = 0; i < tokens; ++i)
            for (std::size_t j = 0; j < features; ++j) {
              const std::size_t index = p.index(0, i, j);
              if (j != lane || i < reset || i > bad)
                kept = kept && p.grad_h[index] == clean.grad_h[index] && p.grad_decay[index] == clean.grad_decay[index];
              else
                spread =
                    spread && !std::isfinite(p.grad_h[index]) && (i == reset || !std::isfinite(p.grad_decay[index]));
            }
          CAPTURE(features, lane, value);
          CHECK(kept);
          CHECK(spread);
          CHECK(p.grad_decay[p.index(0, reset, lane)] == 0);
          CHECK(same_bits(p.grad_s0, clean.grad_s0));
        }
    }
  });
}

// A weight that underflows, or a product of weights that underflows, keeps NaN as the formulas do. Only a reset ends
// NaN.
TEST_CASE("heinsen/scan:vjp/optimized_few_features_underflow", "[optimized][heinsen]") {
  on_every_target([] {
    for (std::size_t features = 1; features <= 15; ++features)
      for (const float decay : {-95.0f, -200.0f})
        for (const bool gated : {false, true}) {
          constexpr std::size_t tokens = 130, reset = 20, bad = 120;
          scan_problem<float> p({1, tokens, features}, gated, features);
          for (float& x : p.decay) x = decay;
          for (std::size_t j = 0; j < features; ++j) p.decay[p.index(0, reset, j)] = -inf<float>;
          for (std::size_t j = 0; j < features; ++j) p.grad_s[p.index(0, bad, j)] = nan<float>;
          p.run();
          bool ended = true, spread = true;
          for (std::size_t i = 0; i < tokens; ++i)
            for (std::size_t j = 0; j < features; ++j) {
              const std::size_t index = p.index(0, i, j);
              if (i < reset || i > bad)
                ended = ended && std::isfinite(p.grad_h[index]) && std::isfinite(p.grad_decay[index]);
              else
                spread = spread && std::isnan(p.grad_h[index]) && (i == reset || std::isnan(p.grad_decay[index]));
            }
          CAPTURE(features, decay, gated);
          CHECK(ended);
          CHECK(spread);
        }
  });
}

TEST_CASE("heinsen/scan:vjp/optimized_few_features_on_threads", "[optimized][heinsen]") {
  on_every_target([] {
    for (const std::size_t features : {1u, 3u, 8u, 15u}) {
      scan_problem<float> one = with_resets({1, 40000 / features, features}, false, 7);
      set_threads(1);
      one.run();
      for (const int count : {2, 3}) {
        set_threads(count);
        scan_problem<float> p = one;
        p.run();
        CAPTURE(features, count);
        CHECK(same_results(p, one));
      }
      set_threads(0);
    }
  });
}

TEST_CASE("heinsen/scan:vjp/optimized_few_features_with_gaps", "[optimized][heinsen]") {
  constexpr std::size_t tokens = 700;
  on_every_target([] {
    for (const std::size_t features : {1u, 2u, 7u, 8u, 11u}) {
      scan_problem<float> p = with_resets({2, tokens, features}, false, 9);
      p.run();
      // The rows of each array have a length of their own.
      const auto spread = [&](const std::vector<float>& from, std::size_t gap) {
        std::vector<float> to(2 * tokens * (features + gap), -12345.0f);
        for (std::size_t row = 0; row < 2 * tokens; ++row)
          std::copy_n(from.data() + row * features, features, to.data() + row * (features + gap));
        return to;
      };
      const auto inside = [&](auto& array, std::size_t gap) {
        auto v = dense<std::remove_reference_t<decltype(array[0])>, 3>(array.data(), {2, tokens, features + gap});
        v.shape[2] = features;
        return v;
      };
      const auto decay = spread(p.decay, 3), h = spread(p.h, 0), s = spread(p.s, 1), grad_s = spread(p.grad_s, 5);
      const std::vector<float> blank(p.s.size(), 1.0f);
      auto grad_decay = spread(blank, 2), grad_h = spread(blank, 4);
      std::vector<float> grad_s0(p.grad_s0.size());
      heinsen::scan_vjp<float>(process_execution(), {inside(decay, 3), inside(h, 0), p.states(p.s0)},
                               {inside(s, 1), inside(grad_s, 5), p.states(p.grad_s_n)},
                               {inside(grad_decay, 2), inside(grad_h, 4), p.states(grad_s0)});
      CAPTURE(features);
      CHECK(same_bits(grad_decay, spread(p.grad_decay, 2)));
      CHECK(same_bits(grad_h, spread(p.grad_h, 4)));
      CHECK(same_bits(grad_s0, p.grad_s0));
    }
  });
}

}  // namespace assay::optimized::tests
