// Hessian-vector products at 100 digits: compared with dual numbers through the adjoint, with differences of gradients
// and with the closed form; symmetry, the null vector and positive semi-definiteness.
#include "reference/algorithms/second_derivatives.hpp"

#include <catch2/catch.hpp>

#include "reference/readings/tangent.hpp"
#include "reference/tests/lane_calculus.hpp"

using namespace assay;
using namespace assay::reference;
using namespace assay::reference::testing;

namespace {

// A loss, given by its cotangents at the states and their derivatives in the states: dgbar = curvature ds.
struct loss {
  std::vector<value> grad_s;
  value grad_last, curvature;
};

loss random_loss(std::size_t n, core::counter_random& random, double curvature) {
  return {random_values(n, random), value(random.normal()), value(curvature)};
}
// The loss that is the state after the last token.
loss last_state(std::size_t n) { return {std::vector<value>(n, value(0.0)), value(1.0), value(0.0)}; }

// Cotangents of sum_i gbar_i s_i + curvature/2 s_i^2 + gbar_last s_n, where states are finite.
template <class R>
std::vector<R> cotangents(const loss& objective, const std::vector<R>& s) {
  std::vector<R> grad;
  for (std::size_t i = 0; i < s.size(); ++i)
    grad.push_back(is_minus_infinity(s[i]) ? R(objective.grad_s[i])
                                           : R(objective.grad_s[i]) + R(objective.curvature) * s[i]);
  return grad;
}

value_vector gradient(const loss& objective, const value_lane& x) {
  return gradient_of(x, cotangents(objective, states_of(x)), objective.grad_last);
}

value_vector hessian_product(const loss& objective, const value_lane& x, const value_vector& v) {
  const std::size_t n = x.size();
  const std::vector<value> s = states_of(x), grad_s = cotangents(objective, s);
  std::vector<value> ds(n), d_grad(n);
  scan_tangent<sigmoid_form, value>(read(x.a), read(x.h), x.s0, read(s), v.as_direction(), write(ds));
  for (std::size_t i = 0; i < n; ++i) d_grad[i] = objective.curvature * ds[i];
  value_vector product(n);
  const value zero(0.0);
  scan_hessian_product<value>(read(x.a), read(x.h), x.s0, read(s), v.as_direction(), read(ds),
                              {read(grad_s), objective.grad_last}, {read(d_grad), zero}, product.as_gradient());
  return product;
}

// The derivative by dual numbers through scan and adjoint.
value_vector by_dual_numbers(const loss& objective, const value_lane& x, const value_vector& v) {
  lane_of<tangent> dual{{}, {}, tangent(x.s0, v.s0)};
  for (std::size_t i = 0; i < x.size(); ++i) {
    dual.a.emplace_back(x.a[i], v.a[i]);
    dual.h.emplace_back(x.h[i], v.h[i]);
  }
  const auto grad = gradient_of(dual, cotangents(objective, states_of(dual)), tangent(objective.grad_last));
  value_vector product(x.size());
  for (std::size_t k = 0; k < 2 * x.size() + 1; ++k)
    product.element(k) = lane_vector<tangent>(grad).element(k).derivative;
  return product;
}

std::vector<std::vector<value>> hessian(const loss& objective, const value_lane& x) {
  std::vector<std::vector<value>> rows;
  for (std::size_t k = 0; k < 2 * x.size() + 1; ++k)
    rows.push_back(hessian_product(objective, x, unit_vector(x.size(), k)).flat());
  return rows;
}

// The smallest pivot of the factorisation L D L^T of a symmetric matrix.
value smallest_pivot(std::vector<std::vector<value>> m) {
  value smallest = m[0][0];
  for (std::size_t k = 0; k < m.size(); ++k) {
    if (m[k][k].number < smallest.number) smallest = m[k][k];
    for (std::size_t i = k + 1; i < m.size(); ++i) {
      const value factor = m[i][k] / m[k][k];
      for (std::size_t j = k; j < m.size(); ++j) m[i][j] = m[i][j] - factor * m[k][j];
    }
  }
  return smallest;
}

}  // namespace

TEST_CASE("heinsen/hessian/dual_numbers_through_the_adjoint", "[property][heinsen]") {
  for (const filling f : fillings)
    for (const std::size_t n : {0u, 1u, 2u, 9u, 33u})
      for (std::uint64_t seed = 0; seed < scaled(4); ++seed) {
        const value_lane x = make_lane(f, n, seed);
        INFO(x.name);
        core::counter_random random(seed + 50);
        const loss objective = random_loss(n, random, seed % 2 == 0 ? 0.0 : 1.0);
        const value_vector v = random_vector(n, random);
        CHECK(deviation(hessian_product(objective, x, v).flat(), by_dual_numbers(objective, x, v).flat()) < 1e-90);
      }
}

TEST_CASE("heinsen/hessian/differences_of_gradients", "[property][heinsen]") {
  // Fourth order at 335 bits with step 1e-18: the errors are 1e-72 and 1e-100 / 1e-18, times the size of h in `wide`.
  for (const filling f : fillings)
    for (std::uint64_t seed = 0; seed < scaled(4); ++seed) {
      const value_lane x = make_lane(f, 7, seed);
      INFO(x.name);
      core::counter_random random(seed + 60);
      const loss objective = random_loss(7, random, 1.0);
      const value_vector v = random_vector(7, random);
      const value step(1e-18);
      const auto gradient_at = [&](double k) { return gradient(objective, moved(x, v, value(k) * step)).flat(); };
      const auto p1 = gradient_at(1), m1 = gradient_at(-1), p2 = gradient_at(2), m2 = gradient_at(-2);
      std::vector<value> slope;
      for (std::size_t k = 0; k < p1.size(); ++k)
        slope.push_back((value(8.0) * (p1[k] - m1[k]) - (p2[k] - m2[k])) / (value(12.0) * step));
      CHECK(deviation(slope, hessian_product(objective, x, v).flat()) < 1e-65);
    }
}

TEST_CASE("heinsen/hessian/symmetry", "[property][heinsen]") {
  for (const filling f : fillings)
    for (std::uint64_t seed = 0; seed < scaled(6); ++seed) {
      const value_lane x = make_lane(f, 17, seed);
      INFO(x.name);
      core::counter_random random(seed + 70);
      const loss objective = random_loss(17, random, 1.0);
      const value_vector u = random_vector(17, random), v = random_vector(17, random);
      const value uhv = dot(u.flat(), hessian_product(objective, x, v).flat());
      CHECK(deviation(uhv, dot(v.flat(), hessian_product(objective, x, u).flat())) < 1e-90);
    }
}

TEST_CASE("heinsen/hessian/closed_form_of_the_last_state", "[property][heinsen]") {
  // d2/dh_j dh_k = pi_j [j = k] - pi_j pi_k (s_0 as k = 0), d2/da_i da_j = c_min(i,j) - c_i c_j,
  // d2/da_j dh_k = pi_k ([k < j] - c_j).
  for (const filling f : fillings)
    for (std::uint64_t seed = 0; seed < scaled(3); ++seed) {
      const std::size_t n = 8;
      const value_lane x = make_lane(f, n, seed);
      INFO(x.name);
      const auto pi = shares(x, states_of(x), n), c = carried_shares(pi);
      const auto m = hessian(last_state(n), x);
      const auto input = [&](std::size_t k) { return k == 0 ? 2 * n : n + k - 1; };  // the row of h_k, and of s_0
      for (std::size_t j = 0; j <= n; ++j)
        for (std::size_t k = 0; k <= n; ++k) {
          const value expected = (j == k ? pi[j] : value(0.0)) - pi[j] * pi[k];
          CHECK(deviation(m[input(j)][input(k)], expected) < 1e-90);
          if (j == 0) continue;
          const value mixed = pi[k] * ((k < j ? value(1.0) : value(0.0)) - c[j]);
          CHECK(deviation(m[j - 1][input(k)], mixed) < 1e-90);
          if (k == 0) continue;
          CHECK(deviation(m[j - 1][k - 1], c[std::min(j, k)] - c[j] * c[k]) < 1e-90);
        }
    }
}

TEST_CASE("heinsen/hessian/positive_semidefinite_with_the_shift_as_null_vector", "[property][heinsen]") {
  for (const filling f : fillings)
    for (const std::size_t n : {1u, 2u, 5u, 12u})
      for (std::uint64_t seed = 0; seed < scaled(3); ++seed) {
        const value_lane x = make_lane(f, n, seed);
        INFO(x.name);
        value_vector shift(n);
        std::fill(shift.h.begin(), shift.h.end(), value(1.0));
        shift.s0 = value(1.0);
        const std::vector<value> zero(2 * n + 1, value(0.0));
        CHECK(deviation(hessian_product(last_state(n), x, shift).flat(), zero) < 1e-95);
        // A matrix is positive semi-definite to 1e-60 where all its pivots are positive after 1e-60 is added.
        auto m = hessian(last_state(n), x);
        for (std::size_t k = 0; k < m.size(); ++k) m[k][k] = m[k][k] + value(1e-60);
        CHECK(smallest_pivot(m).number > 0);
        // The test itself can fail: with -1e-30 along the null vector the matrix is not positive.
        for (std::size_t j = n; j < m.size(); ++j)
          for (std::size_t k = n; k < m.size(); ++k) m[j][k] = m[j][k] - value(1e-30);
        CHECK(smallest_pivot(m).number < 0);
      }
}

TEST_CASE("heinsen/hessian/gate_logits", "[property][heinsen]") {
  // Compared with dual numbers through log_sigmoid, the scan, the adjoint and the slope of the gate.
  for (const filling f : {filling::mild, filling::wide, filling::infinite_prefix})
    for (std::uint64_t seed = 0; seed < scaled(4); ++seed) {
      const std::size_t n = 11;
      core::counter_random random(seed + 80);
      value_lane x = make_lane(f, n, seed);
      const loss objective = random_loss(n, random, 0.0);
      const std::vector<value> g = random_values(n, random), dg = random_values(n, random);
      value_vector v = random_vector(n, random);
      lane_of<tangent> dual{{}, {}, tangent(x.s0, v.s0)};
      for (std::size_t i = 0; i < n; ++i) {
        dual.a.push_back(log_sigmoid(tangent(g[i], dg[i])));
        dual.h.emplace_back(x.h[i], v.h[i]);
        x.a[i] = dual.a[i].number;
        v.a[i] = dual.a[i].derivative;
      }
      INFO(x.name);
      const auto expected = gradient_of(dual, cotangents(objective, states_of(dual)), tangent(objective.grad_last));
      const value_vector grad = gradient(objective, x), product = hessian_product(objective, x, v);
      for (std::size_t i = 0; i < n; ++i) {
        const tangent through_gate = expected.a[i] * sigmoid(-tangent(g[i], dg[i]));
        CHECK(deviation(gate_hessian_product(g[i], dg[i], grad.a[i], product.a[i]), through_gate.derivative) < 1e-90);
        CHECK(deviation(product.h[i], expected.h[i].derivative) < 1e-90);
      }
    }
}
