// Identities of the gradients at 100 digits: the Jacobian entry by entry, conservation, telescoping, mean age
// and the log-space adjoint.
#include <catch2/catch.hpp>

#include "reference/tests/graded_lane.hpp"

using namespace assay;
using namespace assay::reference;
using namespace assay::reference::testing;

namespace {

value magnitude(const value& x) { return x.number < 0 ? -x : x; }

}  // namespace

TEST_CASE("heinsen/adjoint/jacobian_entries", "[property][heinsen]") {
  // ds_i/dh_k = pi_ik, ds_i/da_j = c_ij, ds_i/ds_0 = pi_i0; 0 beyond i. There is one unit cotangent for each state.
  for (const filling f : fillings)
    for (std::uint64_t seed = 0; seed < scaled(3); ++seed) {
      const value_lane x = make_lane(f, 9, seed);
      INFO(x.name);
      const auto s = states_of(x);
      for (std::size_t i = 1; i <= x.size(); ++i) {
        const value_vector grad = gradient_of_state(x, i - 1);
        const auto pi = shares(x, s, i), c = carried_shares(pi);
        CHECK(deviation(grad.s0, pi[0]) < 1e-90);
        for (std::size_t k = 1; k <= x.size(); ++k) {
          CHECK(deviation(grad.h[k - 1], k <= i ? pi[k] : value(0.0)) < 1e-90);
          CHECK(deviation(grad.a[k - 1], k <= i ? c[k] : value(0.0)) < 1e-90);
        }
      }
    }
}

TEST_CASE("heinsen/adjoint/state_to_state_is_a_product_of_weights", "[property][heinsen]") {
  // ds_i/ds_j = w_{j+1} ... w_i = exp(A_i - A_j + s_j - s_i): the chunk after token j, from s_j as its s_0.
  for (const filling f : {filling::mild, filling::slow_decay, filling::fast_decay, filling::wide})
    for (std::uint64_t seed = 0; seed < scaled(3); ++seed) {
      const value_lane x = make_lane(f, 8, seed);
      INFO(x.name);
      const auto s = states_of(x);
      const auto weights = weights_of(x, s);
      for (std::size_t j = 0; j < x.size(); ++j) {
        const auto from = static_cast<std::ptrdiff_t>(j) + 1;
        const value_lane rest{{x.a.begin() + from, x.a.end()}, {x.h.begin() + from, x.h.end()}, s[j]};
        value product(1.0), decay(0.0);
        for (std::size_t i = j + 1; i < x.size(); ++i) {
          product = product * weights[i].w;
          decay = decay + x.a[i];
          CHECK(deviation(gradient_of_state(rest, i - j - 1).s0, product) < 1e-90);
          CHECK(deviation(exp(decay + s[j] - s[i]), product) < 1e-90);
        }
      }
    }
}

TEST_CASE("heinsen/adjoint/parts_add_up_to_the_total_adjoint", "[property][heinsen]") {  // G1
  for_graded_lanes([](const graded_lane& g) {
    const auto lambda = g.adjoints();
    for (std::size_t i = 0; i < lambda.size(); ++i)
      CHECK(deviation(g.grad.a[i] + g.grad.h[i], is_dead(g, i) ? value(0.0) : lambda[i]) < 1e-90);
  });
}

TEST_CASE("heinsen/adjoint/conservation_and_telescoping", "[property][heinsen]") {  // G2, G3
  // sum_{k >= i} (gbar_k - hbar_k) = abar_i; at i = 1 this is the conservation law. States of -inf contribute nothing.
  for_graded_lanes([](const graded_lane& g) {
    const std::size_t n = g.x.size();
    value sum = is_dead(g, n - 1) ? value(0.0) : g.grad_last;
    for (std::size_t i = n; i-- > 0;) {
      sum = sum + (is_dead(g, i) ? value(0.0) : g.grad_s[i]) - g.grad.h[i];
      CHECK(deviation(g.grad.a[i], sum) < 1e-90);
    }
    CHECK(deviation(g.grad.s0, sum) < 1e-90);
  });
}

TEST_CASE("heinsen/adjoint/older_decays_matter_less", "[property][heinsen]") {  // G4
  // 0 <= c_i1 <= ... <= c_ii = w_i < 1 where there is an input.
  for (const filling f : fillings)
    for (std::uint64_t seed = 0; seed < scaled(3); ++seed) {
      const value_lane x = make_lane(f, 12, seed);
      INFO(x.name);
      const auto s = states_of(x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const value_vector grad = gradient_of_state(x, i);
        value before(0.0);
        for (std::size_t j = 0; j <= i; ++j) {
          CHECK(before.number <= grad.a[j].number);
          before = grad.a[j];
        }
        const value t = x.a[i] + (i == 0 ? x.s0 : s[i - 1]);
        const bool carried_only = is_minus_infinity(x.h[i]) && !is_minus_infinity(t);
        const value w = carried_only ? value(1.0) : is_minus_infinity(t) ? value(0.0) : sigmoid(t - x.h[i]);
        CHECK(deviation(grad.a[i], w) < 1e-95);
        if (!carried_only) CHECK(grad.a[i].number < 1);
      }
    }
}

TEST_CASE("heinsen/adjoint/mean_age", "[property][heinsen]") {  // G5
  // sum_j c_ij = sum_k pi_ik (i - k); both sides come from gradients.
  for (const filling f : fillings)
    for (std::uint64_t seed = 0; seed < scaled(3); ++seed) {
      const value_lane x = make_lane(f, 12, seed);
      INFO(x.name);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const value_vector grad = gradient_of_state(x, i);
        value decays(0.0), age = grad.s0 * value(static_cast<double>(i) + 1);
        for (std::size_t j = 0; j <= i; ++j) {
          decays = decays + grad.a[j];
          age = age + grad.h[j] * value(static_cast<double>(i - j));
        }
        CHECK(deviation(decays, age) < 1e-90);
      }
    }
}

TEST_CASE("heinsen/adjoint/bounded_by_the_cotangents", "[property][heinsen]") {  // G6
  // |lambda_i| <= sum_{j >= i} |gbar_j|, and so every gradient has this bound.
  for_graded_lanes([](const graded_lane& g) {
    value sum = magnitude(g.grad_last);
    for (std::size_t i = g.x.size(); i-- > 0;) {
      sum = sum + magnitude(g.grad_s[i]);
      CHECK((magnitude(g.grad.a[i]) + magnitude(g.grad.h[i])).number <= sum.number * value::real(1 + 1e-15));
    }
    CHECK(magnitude(g.grad.s0).number <= sum.number);
  });
}

namespace {

// log lambda_i = LSE(log gbar_i, log w_{i+1} + log lambda_{i+1}) for gbar >= 0: this is the scan itself, run in reverse
// on the logarithms of the weights, shifted by one.
std::vector<value> adjoints_in_log_space(const value_lane& x, const std::vector<value>& s,
                                         const std::vector<value>& grad_s) {
  const std::size_t n = x.size();
  value_lane reversed{{}, {}, value(-infinity)};
  for (std::size_t i = n; i-- > 0;) {
    const bool last = i + 1 == n;
    reversed.a.push_back(last ? value(0.0) : log_sigmoid(x.a[i + 1] + s[i] - x.h[i + 1]));
    reversed.h.push_back(log(grad_s[i]));
  }
  std::vector<value> lambda;
  for (const value& l : states_of(reversed)) lambda.push_back(exp(l));
  return {lambda.rbegin(), lambda.rend()};
}

}  // namespace

TEST_CASE("heinsen/adjoint/log_space", "[property][heinsen]") {
  // Cotangents of mixed sign: the positive and the negative part are scanned separately, and subtracted.
  for (const filling f : {filling::mild, filling::slow_decay, filling::fast_decay, filling::wide})
    for (std::uint64_t seed = 0; seed < scaled(5); ++seed) {
      const std::size_t n = 20;
      core::counter_random random(seed + 400);
      // Spread over 2000 nats, beyond the exponents of f64.
      std::vector<value> grad_s, positive, negative;
      for (std::size_t i = 0; i < n; ++i) {
        grad_s.push_back(value(random.normal()) * exp(value(random.uniform(-1000, 1000))));
        positive.push_back(is_positive(grad_s[i]) ? grad_s[i] : value(0.0));
        negative.push_back(is_positive(grad_s[i]) ? value(0.0) : -grad_s[i]);
      }
      const graded_lane g(make_lane(f, n, seed), grad_s, value(0.0));
      INFO(g.x.name);
      const auto p = adjoints_in_log_space(g.x, g.s, positive), m = adjoints_in_log_space(g.x, g.s, negative);
      const auto lambda = g.adjoints();
      for (std::size_t i = 0; i < n; ++i)
        CHECK(magnitude(p[i] - m[i] - lambda[i]).number <= (p[i] + m[i]).number * value::real(1e-90));
    }
}
