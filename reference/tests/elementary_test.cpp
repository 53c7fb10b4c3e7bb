// The elementary properties of s_i = LSE(a_i + s_{i-1}, h_i) at 100 digits, the closed cases, and by
// enclosures where an order is claimed.
#include <catch2/catch.hpp>

#include "reference/encodings/heinsen.hpp"
#include "reference/oracle.hpp"
#include "reference/readings/enclosure.hpp"
#include "reference/readings/rounded.hpp"
#include "reference/tests/lane_calculus.hpp"

using namespace assay;
using namespace assay::reference;
using namespace assay::reference::testing;

namespace {

// Calls check(lane, its states) for every filling, some lengths and seeds.
template <class Check>
void for_lanes(std::uint64_t seeds, Check check) {
  for (const filling f : fillings)
    for (const std::size_t n : {1u, 2u, 5u, 16u, 40u})
      for (std::uint64_t seed = 0; seed < scaled(seeds); ++seed) {
        const value_lane x = make_lane(f, n, seed);
        INFO(x.name);
        check(x, states_of(x));
      }
}

value larger_term(const value_lane& x, const std::vector<value>& s, std::size_t i) {
  return larger(x.a[i] + (i == 0 ? x.s0 : s[i - 1]), x.h[i]);
}

// x <= y to the last digits of `value`.
bool at_most(const value& x, const value& y) { return x.number <= y.number || deviation(x, y) < 1e-95; }

// The terms h_k + A_i - A_k, k = 0 ... i (1-based i), h_0 = s_0: summed from the end, as a_k = -inf cuts.
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
  // The order of E1 decided: the input strictly below the state, the state strictly below max + log 2, also
  // where they agree to more digits than the enclosure has.
  using interval = enclosure<35>;
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
  // Moving one input up by delta moves every state by at least its derivative there (convexity) and by at
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
          const value slope = gradient_of_state(x, i).at(k), difference = up[i] - s[i];
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

TEST_CASE("heinsen/scan/inverse_step", "[property][heinsen]") {  // E7
  // s_{i-1} = log(e^{s_i} - e^{h_i}) - a_i: digits are lost like 1 / w_i, for these lanes below 30.
  for (const filling f : {filling::mild, filling::slow_decay})
    for (std::uint64_t seed = 0; seed < scaled(10); ++seed) {
      const value_lane x = make_lane(f, 25, seed);
      INFO(x.name);
      const auto s = states_of(x);
      const auto weights = weights_of(x, s);
      const auto inverse = [&](std::size_t i, const value& state) { return log(exp(state) - exp(x.h[i])) - x.a[i]; };
      for (std::size_t i = 0; i < s.size(); ++i) {
        REQUIRE(s[i].number > x.h[i].number);
        CHECK(deviation(inverse(i, s[i]), i == 0 ? x.s0 : s[i - 1]) < 1e-90);
        const value step(1e-40), moved_by = inverse(i, s[i] + step) - inverse(i, s[i]);
        CHECK(deviation(moved_by / step * weights[i].w, value(1.0)) < 1e-30);
      }
    }
}

TEST_CASE("heinsen/scan/closed_cases", "[property][heinsen]") {  // E8, E9, p = 0
  for_lanes(2, [](const value_lane& x, const std::vector<value>&) {
    const std::size_t n = x.size();
    value_lane no_decay = x, no_input = x, no_past = x;
    no_decay.a.assign(n, value(0.0));
    no_input.h.assign(n, value(-infinity));
    no_past.a.assign(n, value(-infinity));
    const auto s = states_of(no_decay), decaying = states_of(no_input), cut = states_of(no_past);
    value sum = is_minus_infinity(x.s0) ? value(0.0) : exp(x.s0), decay = x.s0;
    for (std::size_t i = 0; i < n; ++i) {
      sum = sum + exp(x.h[i]);
      CHECK(deviation(s[i], log(sum)) < 1e-95);
      decay = decay + x.a[i];
      CHECK(deviation(decaying[i], decay) == 0.0);
      CHECK(deviation(cut[i], x.h[i]) == 0.0);
    }
  });
}

TEST_CASE("heinsen/scan/constant_decay_and_input", "[property][heinsen]") {  // E10
  // s_i = s* + log(1 + r p^i), s* = h - log(1 - p), r = e^{s_0 - s*} - 1; w_i -> p.
  for (const double p : {0.1, 0.5, 0.9, 0.999})
    for (const double h : {-30.0, 0.5, 40.0})
      for (const double s0 : {-5.0, 0.0, 60.0}) {
        INFO("p " << p << " h " << h << " s0 " << s0);
        const std::size_t n = 60;
        const value log_p = log(value(p)), fixed = value(h) - log(value(1.0) - value(p));
        const value r = exp(value(s0) - fixed) - value(1.0);
        const value_lane x{std::vector<value>(n, log_p), std::vector<value>(n, value(h)), value(s0)};
        const auto s = states_of(x);
        value power(1.0), distance(infinity);
        for (std::size_t i = 0; i < n; ++i) {
          power = power * value(p);
          // 1 + r p^i loses digits like e^{s* - s}: 75 nats at most here.
          CHECK(deviation(s[i], fixed + log(value(1.0) + r * power)) < 1e-60);
          const value w = exp(log_p + (i == 0 ? value(s0) : s[i - 1]) - s[i]);
          const value now = larger(w - value(p), value(p) - w);
          CHECK(at_most(now, distance));
          distance = now;
        }
      }
}

namespace {

// A lane rounded to the dtype.
template <core::dtype T>
lane_of<rounded<T>> rounded_lane(const value_lane& x) {
  lane_of<rounded<T>> y{{}, {}, rounded<T>(x.s0.to_double())};
  for (std::size_t i = 0; i < x.size(); ++i) {
    y.a.emplace_back(x.a[i].to_double());
    y.h.emplace_back(x.h[i].to_double());
  }
  return y;
}

template <class R>
lane_of<R> part(const lane_of<R>& x, std::size_t first, std::size_t last, const R& state) {
  const auto at = [](const auto& v, std::size_t i) { return v.begin() + static_cast<std::ptrdiff_t>(i); };
  return {{at(x.a, first), at(x.a, last)}, {at(x.h, first), at(x.h, last)}, state};
}

template <core::dtype T>
void check_chunks(const value_lane& lane) {
  const auto x = rounded_lane<T>(lane);
  const auto whole = states_of(x);
  for (std::size_t m = 0; m <= x.size(); ++m) {
    auto s = states_of(part(x, 0, m, x.s0));
    const auto rest = states_of(part(x, m, x.size(), m == 0 ? x.s0 : s.back()));
    s.insert(s.end(), rest.begin(), rest.end());
    REQUIRE(s.size() == whole.size());
    for (std::size_t i = 0; i < s.size(); ++i) CHECK(core::same_value(s[i].number, whole[i].number));
  }
}

}  // namespace

TEST_CASE("heinsen/scan/chunks", "[property][heinsen]") {  // E11
  // Step by step, the split changes no bit in any arithmetic; trees agree at 100 digits.
  for (const filling f : fillings)
    for (const std::size_t n : {0u, 1u, 13u}) {
      const value_lane x = make_lane(f, n, 5);
      INFO(x.name);
      check_chunks<core::dtype::f64>(x);
      check_chunks<core::dtype::f32>(x);
      check_chunks<core::dtype::f16>(x);
      check_chunks<core::dtype::bf16>(x);
      const auto tree = [](const value_lane& y) {
        std::vector<value> s(y.size());
        balanced_tree_scan<value>(read(y.a), read(y.h), y.s0, write(s));
        return s;
      };
      for (std::size_t m = 0; m <= n; ++m) {
        auto s = tree(part(x, 0, m, x.s0));
        const auto rest = tree(part(x, m, n, m == 0 ? x.s0 : s.back()));
        s.insert(s.end(), rest.begin(), rest.end());
        CHECK(deviation(s, states_of(x)) < 1e-95);
      }
    }
}

TEST_CASE("heinsen/scan/features_are_independent", "[property][heinsen]") {  // E12
  // Permuting the features permutes the outputs, bit by bit, in every algorithm and in the truth.
  using core::dtype;
  const core::operation& op = *find_operation("heinsen/scan");
  const std::size_t n = 7, d = 5;
  const std::vector<std::size_t> order{3, 0, 4, 2, 1};
  core::counter_random random(17);
  std::vector<double> a(n * d), h(n * d), s0(d);
  for (double& x : a) x = -random.uniform(0.01, 2);
  for (double& x : h) x = random.normal();
  for (double& x : s0) x = random.normal();
  const core::tensors in{{"log_p", core::make_tensor(dtype::f32, {1, n, d}, a)},
                         {"h", core::make_tensor(dtype::f32, {1, n, d}, h)},
                         {"s0", core::make_tensor(dtype::f32, {1, d}, s0)}};
  const core::tensors permuted = core::restrict_axis(op, in, "d", order);
  const auto check = [&](const core::tensors& out, const core::tensors& of_permuted) {
    for (const core::tensor_declaration& declared : op.outputs) {
      const core::tensor t = core::take(out.at(declared.name), *core::axis_of(declared, "d"), order);
      for (std::size_t i = 0; i < t.size(); ++i)
        CHECK(t.values.storage()[i] == of_permuted.at(declared.name).values.storage()[i]);
    }
  };
  for (const auto c : accuracy_classes)
    if (c != accuracy_class::uniform) check(evaluate(op, c, dtype::f32, in), evaluate(op, c, dtype::f32, permuted));
  core::tensors truth, of_permuted;
  for (const auto& [name, c] : certify(op, dtype::f32, in)) truth.emplace(name, c.rounded);
  for (const auto& [name, c] : certify(op, dtype::f32, permuted)) of_permuted.emplace(name, c.rounded);
  check(truth, of_permuted);
}
