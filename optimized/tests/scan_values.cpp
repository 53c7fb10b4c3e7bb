// Compares the forward scans with a long double loop.
#include "optimized/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

// Returns the largest error in units of the running error bound of plain arithmetic. At each step, this bound adds the
// roundings of log p, t, exp, log1p and the sum, and multiplies by the weight of the past.
template <class Real>
long double worst_ratio(const scan_problem<Real>& p) {
  const long double u = unit_roundoff<Real>;
  long double worst = 0;
  for (std::size_t b = 0; b < p.shape.batch; ++b)
    for (std::size_t j = 0; j < p.shape.features; ++j) {
      long double s = p.s0[p.row(b, j)], bound = 0;
      for (std::size_t i = 0; i < p.shape.tokens; ++i) {
        const std::size_t index = p.index(b, i, j);
        const long double log_p = p.gated ? oracle_log_sigmoid(p.decay[index]) : p.decay[index];
        const long double t = log_p + s, h = p.h[index], w = oracle_sigmoid(t - h);
        const long double t_error = bound + (p.gated ? 4 * u * std::fabs(log_p) : 0) + u * std::fabs(t);
        s = oracle_log_sum_exp(t, h);
        const long double e = expl(-std::fabs(t - h));
        bound = w * t_error + u * (2 * log1pl(e) + e / (1 + e) * (2 + std::fabs(t - h)) + std::fabs(s));
        worst = std::max(worst, std::fabs(p.s[index] - s) / bound);
      }
    }
  return worst;
}

}  // namespace

TEMPLATE_TEST_CASE("heinsen/scan/optimized_running_error", "[optimized][heinsen]", float, double) {
  on_every_target([] {
    for (const bool gated : {false, true}) {
      scan_problem<TestType> p({2, 300, 37}, gated, 5);
      p.forward();
      CHECK(worst_ratio(p) < 1.01L);
      scan_problem<TestType> slow({1, 2000, 9}, gated, 6);  // decays near 1
      for (TestType& x : slow.decay) x = gated ? x + 12 : x * TestType(1e-5);
      slow.forward();
      CHECK(worst_ratio(slow) < 1.01L);
      scan_problem<TestType> large({1, 200, 19}, gated, 7);
      for (TestType& x : large.h) x *= TestType(1e4);
      large.forward();
      CHECK(worst_ratio(large) < 1.01L);
    }
  });
}

TEMPLATE_TEST_CASE("heinsen/scan/optimized_last_state", "[optimized][heinsen]", float, double) {
  on_every_target([] {
    scan_problem<TestType> p({3, 5, 11}, false);
    p.forward();
    for (std::size_t b = 0; b < 3; ++b)
      for (std::size_t j = 0; j < 11; ++j) CHECK(p.s_n[p.row(b, j)] == p.s[p.index(b, 4, j)]);
  });
}

// One run over n tokens equals, bit for bit, two runs over chunks that hand on both words of the state, for every place
// of the cut.
TEMPLATE_TEST_CASE("heinsen/scan/optimized_chunk_continuation", "[optimized][heinsen]", float, double) {
  on_every_target([] {
    for (const bool gated : {false, true}) {
      scan_problem<TestType> whole({1, 12, 7}, gated);
      whole.forward();
      for (std::size_t cut = 0; cut <= 12; ++cut) {
        scan_problem<TestType> first({1, cut, 7}, gated), second({1, 12 - cut, 7}, gated);
        const auto split = static_cast<std::ptrdiff_t>(cut * 7);
        const auto divide = [&](const auto& from, auto& head, auto& tail) {
          head.assign(from.begin(), from.begin() + split);
          tail.assign(from.begin() + split, from.end());
        };
        divide(whole.decay, first.decay, second.decay);
        divide(whole.h, first.h, second.h);
        first.s0 = whole.s0;
        first.forward();
        second.s0 = first.s_n;
        second.s0_low = first.s_n_low;
        second.forward();
        auto joined = first.s;
        joined.insert(joined.end(), second.s.begin(), second.s.end());
        CHECK(same_bits(joined, whole.s));
        CHECK(same_bits(second.s_n, whole.s_n));
        CHECK(same_bits(second.s_n_low, whole.s_n_low));
      }
    }
  });
}

TEST_CASE("heinsen/scan/optimized_absent_state_is_zero", "[optimized][heinsen]") {
  scan_problem<float> absent({2, 3, 5}, false), zero({2, 3, 5}, false);
  zero.s0.assign(10, 0.0f);
  zero.grad_s_n.assign(10, 0.0f);
  absent.s0.clear();
  absent.grad_s_n.clear();
  zero.run();
  absent.run();
  CHECK(same_results(absent, zero));
}

}  // namespace assay::optimized::tests
