// Inputs for which the states have a simple form, the inverse of a step, and things on which the states do not depend:
// chunks and other features.
#include <catch2/catch.hpp>

#include "reference/oracle.hpp"
#include "reference/readings/rounded.hpp"
#include "reference/tests/lane_calculus.hpp"

using namespace assay;
using namespace assay::reference;
using namespace assay::reference::testing;

TEST_CASE("heinsen/scan/inverse_step", "[property][heinsen]") {  // E7
  // s_{i-1} = log(e^{s_i} - e^{h_i}) - a_i: digits are lost in proportion to 1 / w_i, which is below 30 for these
  // lanes.
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
          // 1 + r p^i loses digits in proportion to e^{s* - s}: 75 nats at most here.
          CHECK(deviation(s[i], fixed + log(value(1.0) + r * power)) < 1e-60);
          const value w = exp(log_p + (i == 0 ? value(s0) : s[i - 1]) - s[i]);
          const value now = larger(w - value(p), value(p) - w);
          CHECK(at_most(now, distance));
          distance = now;
        }
      }
}

namespace {

// A lane rounded to the working format.
lane_of<rounded> rounded_lane(const value_lane& x) {
  lane_of<rounded> y{{}, {}, rounded(x.s0.to_double())};
  for (std::size_t i = 0; i < x.size(); ++i) {
    y.a.emplace_back(x.a[i].to_double());
    y.h.emplace_back(x.h[i].to_double());
  }
  return y;
}

template <class R>
lane_of<R> part(const lane_of<R>& x, std::size_t first, std::size_t last, const R& state) {
  const auto element_at = [](const auto& v, std::size_t i) { return v.begin() + static_cast<std::ptrdiff_t>(i); };
  return {{element_at(x.a, first), element_at(x.a, last)}, {element_at(x.h, first), element_at(x.h, last)}, state};
}

void check_chunks(core::dtype format, const value_lane& lane) {
  const computing_in scope(format);
  const auto x = rounded_lane(lane);
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
      check_chunks(core::dtype::f64, x);
      check_chunks(core::dtype::f32, x);
      check_chunks(core::dtype::f16, x);
      check_chunks(core::dtype::bf16, x);
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
  // If the features are permuted, so are the outputs, bit by bit, in every algorithm and in the truth.
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
  const auto check = [&](const core::tensors& out, const core::tensors& permuted_outputs) {
    for (const core::tensor_declaration& declared : op.outputs) {
      const core::tensor t = core::take(out.at(declared.name), *core::axis_of(declared, "d"), order);
      for (std::size_t i = 0; i < t.size(); ++i)
        CHECK(t.values.storage()[i] == permuted_outputs.at(declared.name).values.storage()[i]);
    }
  };
  for (const auto c : accuracy_classes)
    if (c != accuracy_class::uniform)
      check(evaluate({&op, dtype::f32, in}, c), evaluate({&op, dtype::f32, permuted}, c));
  core::tensors truth, permuted_outputs;
  for (const auto& [name, c] : certify({&op, dtype::f32, in})) truth.emplace(name, c.rounded);
  for (const auto& [name, c] : certify({&op, dtype::f32, permuted})) permuted_outputs.emplace(name, c.rounded);
  check(truth, permuted_outputs);
}
