// Bounds, order and convexity of s_i = LSE(a_i + s_{i-1}, h_i) at 100 digits; enclosures prove orders that are claimed.
#include <catch2/catch.hpp>

#include "reference/readings/enclosure.hpp"
#include "reference/tests/lane_calculus.hpp"

using namespace assay;
using namespace assay::reference;
using namespace assay::reference::testing;

namespace {

value larger_term(const value_lane& x, const std::vector<value>& s, std::size_t i) {
  return larger(x.a[i] + (i == 0 ? x.s0 : s[i - 1]), x.h[i]);
}

// The terms h_k + A_i - A_k, k = 0 ... i (1-based i), h_0 = s_0. They are summed from the end, since a_k = -inf cuts.
std::vector<value> decayed_inputs(const value_lane& x, std::size_t i) {
  std::vector<value> terms(i + 1);
  value decay(0.0);
  for (std::size_t k = i + 1; k-- > 0;) {
    terms[k] = (k == 0 ? x.s0 : x.h[k - 1]) + decay;
    if (k > 0) decay = decay + x.a[k - 1];
  }
  return terms;
}

}  // namespace

TEST_CASE("heinsen/scan/closed_form", "[property][heinsen]") {
  for_lanes(3, [](const value_lane& x, const std::vector<value>& s) {
    for (std::size_t i = 1; i <= x.size(); ++i) {
      value sum(-infinity);
      for (const value& term : decayed_inputs(x, i)) sum = log_sum_exp(sum, term);
      CHECK(deviation(s[i - 1], sum) < 1e-95);
    }
  });
}

TEST_CASE("heinsen/scan/bounds_of_one_step", "[property][heinsen]") {  // E1
  for_lanes(3, [](const value_lane& x, const std::vector<value>& s) {
    const value log_2 = log(value(2.0));
    value decayed = x.s0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      decayed = decayed + x.a[i];
      const value larger_one = larger_term(x, s, i);
      CHECK(at_most(x.h[i], s[i]));
      CHECK(at_most(decayed, s[i]));
      CHECK(at_most(larger_one, s[i]));
      CHECK(at_most(s[i], larger_one + log_2));
    }
  });
}

TEST_CASE("heinsen/scan/bounds_of_all_inputs", "[property][heinsen]") {  // E2
  for_lanes(3, [](const value_lane& x, const std::vector<value>& s) {
    for (std::size_t i = 1; i <= x.size(); ++i) {
      const auto terms = decayed_inputs(x, i);
      value largest(-infinity);
      for (const value& term : terms) largest = larger(largest, term);
      CHECK(at_most(largest, s[i - 1]));
      CHECK(at_most(s[i - 1], largest + log(value(static_cast<double>(i) + 1))));
    }
  });
  // The upper bound is attained where all terms are equal.
  value_lane equal{std::vector<value>(9, value(0.0)), std::vector<value>(9, value(0.25)), value(0.25)};
  CHECK(deviation(states_of(equal).back(), value(0.25) + log(value(10.0))) < 1e-95);
}

TEST_CASE("heinsen/scan/bounds_proved_by_enclosures", "[property][heinsen]") {
  // The order of E1 is decided: the input lies strictly below the state, and the state strictly below max + log 2, also
  // where they agree to more digits than the enclosure has.
  using interval = enclosure;
  const auto strictly_below = [](const interval& x, const interval& y) {
    const int order = mpfr_cmp(x.high(), y.low());
    return order < 0 || (order == 0 && (x.high_open() || y.low_open()));
  };
  for (const filling f : {filling::mild, filling::slow_decay, filling::fast_decay, filling::wide})
    for (std::uint64_t seed = 0; seed < scaled(20); ++seed) {
      const value_lane x = make_lane(f, 30, seed);
      INFO(x.name);
      interval state(x.s0.to_double());
      for (std::size_t i = 0; i < x.size(); ++i) {
        const interval h(x.h[i].to_double()), t = interval(x.a[i].to_double()) + state;
        state = log_sum_exp(t, h);
        CHECK(strictly_below(h, state));
        const interval& larger_one = mpfr_cmp(t.low(), h.low()) > 0 ? t : h;
        CHECK(strictly_below(state, larger_one + log_sum_exp(interval(0.0), interval(0.0))));
      }
    }
}

TEST_CASE("heinsen/scan/shift", "[property][heinsen]") {  // E3
  for_lanes(2, [](const value_lane& x, const std::vector<value>& s) {
    for (const double c : {-700.0, -0.1, 3.0, 1e6}) {
      value_lane there = x;
      for (value& h : there.h) h = h + value(c);
      there.s0 = there.s0 + value(c);
      const auto shifted = states_of(there);
      for (std::size_t i = 0; i < s.size(); ++i) CHECK(deviation(shifted[i], s[i] + value(c)) < 1e-95);
    }
  });
}

TEST_CASE("heinsen/scan/monotone_between_slope_and_step", "[property][heinsen]") {  // E4, with E5
  // If one input grows by delta, every state grows by at least delta times its derivative there (convexity) and by at
  // most delta; states before the input stay.
  for (const filling f : fillings)
    for (std::uint64_t seed = 0; seed < scaled(2); ++seed) {
      const std::size_t n = 6;
      const value_lane x = make_lane(f, n, seed);
      INFO(x.name);
      const auto s = states_of(x);
      const value delta(0.375);
      for (std::size_t k = 0; k < 2 * n + 1; ++k) {
        const auto up = states_of(moved(x, unit_vector(n, k), delta));
        for (std::size_t i = 0; i < n; ++i) {
          if (is_minus_infinity(s[i])) {
            CHECK(is_minus_infinity(up[i]));
            continue;
          }
          const value slope = gradient_of_state(x, i).element(k), difference = up[i] - s[i];
          CHECK(slope.number >= 0);
          CHECK(at_most(slope * delta, difference));
          CHECK(at_most(difference, delta));
          const bool later = k < 2 * n && k % n > i;
          if (later) CHECK(difference.number == 0);
        }
      }
    }
}

TEST_CASE("heinsen/scan/convex_in_log_p_h_and_s0", "[property][heinsen]") {  // E5
  const value half(0.5);
  for (const filling f : {filling::mild, filling::slow_decay, filling::wide})
    for (std::uint64_t seed = 0; seed < scaled(20); ++seed) {
      const value_lane x = make_lane(f, 9, seed), y = make_lane(f, 9, seed + 1000);
      INFO(x.name);
      value_lane middle = x;
      for (std::size_t i = 0; i < x.size(); ++i) {
        middle.a[i] = half * (x.a[i] + y.a[i]);
        middle.h[i] = half * (x.h[i] + y.h[i]);
      }
      middle.s0 = half * (x.s0 + y.s0);
      const auto sx = states_of(x), sy = states_of(y), sm = states_of(middle);
      for (std::size_t i = 0; i < sm.size(); ++i) CHECK(sm[i].number < (half * (sx[i] + sy[i])).number);
    }
}

TEST_CASE("heinsen/gated_scan/not_convex_in_the_gate_logit", "[property][heinsen]") {  // E5
  const auto state = [](double g) { return log_sum_exp(log_sigmoid(value(g)) + value(0.0), value(-20.0)); };
  CHECK(state(0).number > (value(0.5) * (state(-4) + state(4))).number);
}

TEST_CASE("heinsen/scan/non_expansive_in_the_state", "[property][heinsen]") {  // E6
  for_lanes(2, [](const value_lane& x, const std::vector<value>& s) {
    if (is_minus_infinity(x.s0)) return;
    for (const double gap : {1e-3, 5.0, 200.0}) {
      value_lane other = x;
      other.s0 = other.s0 + value(gap);
      const auto moved_states = states_of(other);
      value before(gap);
      for (std::size_t i = 0; i < s.size(); ++i) {
        const value distance = is_minus_infinity(s[i]) ? value(0.0) : moved_states[i] - s[i];
        CHECK(at_most(distance, before));
        CHECK(at_most(value(0.0), distance));
        before = distance;
      }
    }
  });
}
