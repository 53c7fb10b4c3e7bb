// States, derivatives and closed forms of one lane at 100 digits, for the tests.
#pragma once

#include <catch2/catch.hpp>
#include <vector>

#include "reference/algorithms/adjoint.hpp"
#include "reference/algorithms/forward_derivative.hpp"
#include "reference/tests/lanes.hpp"

namespace assay::reference::testing {

template <class R>
std::vector<R> states_of(const lane_of<R>& x) {
  std::vector<R> s(x.size());
  sequential_scan<R>(read(x.a), read(x.h), x.s0, write(s));
  return s;
}

/// Calls check(lane, its states) for every filling, and for some lengths and seeds.
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

/// A direction, a gradient or a cotangent, with one number for every input of a lane.
template <class R>
struct lane_vector {
  std::vector<R> a, h;
  R s0;
  lane_vector() = default;
  explicit lane_vector(std::size_t n) : a(n, R(0.0)), h(n, R(0.0)), s0(0.0) {}
  [[nodiscard]] scan_direction<R> as_direction() const { return {read(a), read(h), s0}; }
  [[nodiscard]] scan_gradients<R> as_gradient() { return {write(a), write(h), s0}; }
  /// (a_1 ... a_n, h_1 ... h_n, s_0).
  [[nodiscard]] std::vector<R> flat() const {
    std::vector<R> all = a;
    all.insert(all.end(), h.begin(), h.end());
    all.push_back(s0);
    return all;
  }
  R& element(std::size_t k) { return k < a.size() ? a[k] : k < 2 * a.size() ? h[k - a.size()] : s0; }
};
using value_vector = lane_vector<value>;

inline value_vector random_vector(std::size_t n, core::counter_random& random) {
  value_vector v(n);
  v.a = random_values(n, random);
  v.h = random_values(n, random);
  v.s0 = value(random.normal());
  return v;
}
inline value_vector unit_vector(std::size_t n, std::size_t k) {
  value_vector v(n);
  v.element(k) = value(1.0);
  return v;
}

inline value_lane moved(value_lane x, const value_vector& v, const value& step) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.a[i] = x.a[i] + step * v.a[i];
    x.h[i] = x.h[i] + step * v.h[i];
  }
  x.s0 = x.s0 + step * v.s0;
  return x;
}

template <class R>
lane_vector<R> gradient_of(const lane_of<R>& x, const std::vector<R>& grad_s, const R& grad_last) {
  lane_vector<R> grad(x.size());
  const std::vector<R> s = states_of(x);
  scan_adjoint<sigmoid_form, R>(read(x.a), read(x.h), x.s0, read(s), read(grad_s), grad_last, grad.as_gradient());
  return grad;
}
/// The gradient of the state after token i (0-based).
inline value_vector gradient_of_state(const value_lane& x, std::size_t i) {
  std::vector<value> grad_s(x.size(), value(0.0));
  grad_s[i] = value(1.0);
  return gradient_of(x, grad_s, value(0.0));
}

/// pi_{ik} = exp(h_k + A_i - A_k - s_i), k = 0 ... i, h_0 = s_0: the share of input k in state i (1-based);
/// 0 where s_i = -inf.
inline std::vector<value> shares(const value_lane& x, const std::vector<value>& s, std::size_t i) {
  std::vector<value> pi(i + 1, value(0.0));
  if (is_minus_infinity(s[i - 1])) return pi;
  value decay(0.0);
  for (std::size_t k = i + 1; k-- > 0;) {
    pi[k] = exp((k == 0 ? x.s0 : x.h[k - 1]) + decay - s[i - 1]);
    if (k > 0) decay = decay + x.a[k - 1];
  }
  return pi;
}

/// c_{ij} = sum_{k<j} pi_{ik}, j = 1 ... i; element 0 is unused.
inline std::vector<value> carried_shares(const std::vector<value>& pi) {
  std::vector<value> c(pi.size(), value(0.0));
  for (std::size_t j = 1; j < pi.size(); ++j) c[j] = c[j - 1] + pi[j - 1];
  return c;
}

/// The carry weights w_i and input weights v_i = 1 - w_i, from shares: w_i = c_{ii}, v_i = pi_{ii}.
inline std::vector<weight_pair<value>> weights_of(const value_lane& x, const std::vector<value>& s) {
  std::vector<weight_pair<value>> all;
  for (std::size_t i = 1; i <= x.size(); ++i) {
    const auto pi = shares(x, s, i);
    all.push_back({carried_shares(pi)[i], pi[i]});
  }
  return all;
}

}  // namespace assay::reference::testing
