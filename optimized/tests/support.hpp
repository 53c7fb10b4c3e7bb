// Code that the tests share: runs on every instruction set, inputs, and long double oracles.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "optimized/dispatch.hpp"
#include "optimized/encodings/heinsen.hpp"

namespace assay::optimized::tests {

template <class Real>
inline constexpr Real inf = std::numeric_limits<Real>::infinity();
template <class Real>
inline constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
template <class Real>
inline constexpr long double unit_roundoff = std::numeric_limits<Real>::epsilon() / 2;

/// Calls f on every instruction set of this processor, and checks that each is in use.
template <class Function>
void on_every_target(Function f) {
  std::size_t dispatched = 0;
  for (const std::string_view name : supported_targets()) {
    REQUIRE(force_target(name));
    REQUIRE(active_target().value() == name);
    INFO("target " << name);
    f();
    ++dispatched;
  }
  REQUIRE(force_target(""));
  REQUIRE(dispatched == supported_targets().size());
  REQUIRE(dispatched >= 1);
}

/// Multiplies the number of samples by the environment variable ASSAY_TEST_SCALE.
inline std::size_t scaled(std::size_t samples) {
  const char* text = std::getenv("ASSAY_TEST_SCALE");
  return text == nullptr ? samples : samples * static_cast<std::size_t>(std::strtoul(text, nullptr, 10));
}

/// SplitMix64 [Steele, Lea, Flood 2014] as a counter-based generator.
class generator {
 public:
  explicit generator(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Draws a uniform number in [low, high).
  double uniform(double low, double high) { return low + (high - low) * static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

template <class Real>
std::vector<Real> uniform(generator& random, std::size_t count, double low, double high) {
  std::vector<Real> values(count);
  for (Real& x : values) x = static_cast<Real>(random.uniform(low, high));
  return values;
}

/// NaN equals NaN, and the two zeros equal each other.
template <class Real>
bool same(Real a, Real b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

template <class Real>
bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0);
}

struct scan_sizes {
  std::size_t batch, tokens, features;
};

/// A scan of B sequences with all its arrays. Decays are log p, or logits if `gated` is true.
template <class Real>
struct scan_problem {
  scan_sizes shape;
  bool gated;
  std::vector<Real> decay, h, s0, grad_s, grad_s_n;
  std::vector<Real> s, s_n, s_n_low, grad_decay, grad_h, grad_s0;
  std::vector<Real> s0_low;  ///< empty: absent

  scan_problem(scan_sizes sizes, bool is_gated, std::uint64_t seed = 1) : shape(sizes), gated(is_gated) {
    generator random(seed);
    const std::size_t states = sizes.batch * sizes.features, elements = states * sizes.tokens;
    decay = uniform<Real>(random, elements, -4, gated ? 4 : 0);
    h = uniform<Real>(random, elements, -3, 3);
    s0 = uniform<Real>(random, states, -3, 3);
    grad_s = uniform<Real>(random, elements, -1, 1);
    grad_s_n = uniform<Real>(random, states, -1, 1);
    s.resize(elements), grad_decay.resize(elements), grad_h.resize(elements);
    s_n.resize(states), s_n_low.resize(states), grad_s0.resize(states);
  }

  /// A view of a [B, n, d] or [B, d] array. An empty array of states gives an absent view.
  template <class Array>
  [[nodiscard]] auto elements(Array& array) const {
    return dense<std::remove_reference_t<decltype(*array.data())>, 3>(array.data(),
                                                                      {shape.batch, shape.tokens, shape.features});
  }
  template <class Array>
  [[nodiscard]] auto states(Array& array) const {
    return dense<std::remove_reference_t<decltype(*array.data())>, 2>(array.empty() ? nullptr : array.data(),
                                                                      {shape.batch, shape.features});
  }
  [[nodiscard]] heinsen::scan_inputs<Real> inputs() const {
    return {elements(decay), elements(h), states(s0), states(s0_low)};
  }

  void forward() {
    const heinsen::scan_outputs<Real> out{elements(s), states(s_n), states(s_n_low)};
    gated ? heinsen::gated_scan<Real>(process_execution(), inputs(), out)
          : heinsen::scan<Real>(process_execution(), inputs(), out);
  }
  void backward() {
    const heinsen::scan_cotangents<Real> cotangents{elements(s), elements(grad_s), states(grad_s_n)};
    const heinsen::scan_gradients<Real> out{elements(grad_decay), elements(grad_h), states(grad_s0)};
    gated ? heinsen::gated_scan_vjp<Real>(process_execution(), inputs(), cotangents, out)
          : heinsen::scan_vjp<Real>(process_execution(), inputs(), cotangents, out);
  }
  void run() {
    forward();
    backward();
  }
  [[nodiscard]] std::size_t index(std::size_t sequence, std::size_t token, std::size_t feature) const {
    return (sequence * shape.tokens + token) * shape.features + feature;
  }
  [[nodiscard]] std::size_t row(std::size_t sequence, std::size_t feature) const {
    return sequence * shape.features + feature;
  }
};

template <class Real>
bool same_results(const scan_problem<Real>& a, const scan_problem<Real>& b) {
  return same_bits(a.s, b.s) && same_bits(a.s_n, b.s_n) && same_bits(a.s_n_low, b.s_n_low) &&
         same_bits(a.grad_decay, b.grad_decay) && same_bits(a.grad_h, b.grad_h) && same_bits(a.grad_s0, b.grad_s0);
}

inline long double oracle_sigmoid(long double z) { return 1 / (1 + expl(-z)); }
inline long double oracle_log_sigmoid(long double g) { return g < 0 ? g - log1pl(expl(g)) : -log1pl(expl(-g)); }
inline long double oracle_log_sum_exp(long double x, long double y) {
  return std::fmax(x, y) + log1pl(expl(-std::fabs(x - y)));
}

inline long double oracle_step(long double log_p, long double s, long double h) {
  const long double t = log_p + s;
  if (std::isnan(t) || std::isnan(h)) return nan<double>;
  return t == h && std::isinf(t) ? t : oracle_log_sum_exp(t, h);
}

/// Returns the largest error of finite states, in ulp of max(1, |s|). It is infinite if a special value is wrong.
template <class Real>
long double largest_error(const scan_problem<Real>& p) {
  long double worst = 0;
  for (std::size_t b = 0; b < p.shape.batch; ++b)
    for (std::size_t j = 0; j < p.shape.features; ++j) {
      long double s = p.s0[p.row(b, j)];
      for (std::size_t i = 0; i < p.shape.tokens; ++i) {
        const std::size_t index = p.index(b, i, j);
        s = oracle_step(p.gated ? oracle_log_sigmoid(p.decay[index]) : p.decay[index], s, p.h[index]);
        const int exponent = std::isfinite(s) ? std::ilogb(std::max(1.0L, std::fabs(s))) : 0;
        const long double ulp = ldexpl(1, exponent + 1 - std::numeric_limits<Real>::digits);
        const long double error = std::isfinite(s)                         ? std::fabs(p.s[index] - s) / ulp
                                  : same(p.s[index], static_cast<Real>(s)) ? 0.0L
                                                                           : inf<double>;
        worst = std::max(worst, std::isnan(error) ? inf<double> : error);
      }
    }
  return worst;
}

/// Returns the largest error of gradients, for given states. The unit is 2^-p times the sum of the magnitudes of the
/// gradient's terms. The result is infinite if a gradient is NaN that should not be.
template <class Real>
long double worst_gradient_error(const scan_problem<Real>& p) {
  long double worst = 0;
  const auto compare = [&](Real computed, long double exact, long double contributions) {
    if (std::isnan(computed) && !std::isnan(exact)) worst = inf<double>;
    if (contributions > std::numeric_limits<Real>::min())
      worst = std::max(worst, std::fabs(computed - exact) / contributions / unit_roundoff<Real>);
  };
  for (std::size_t b = 0; b < p.shape.batch; ++b)
    for (std::size_t j = 0; j < p.shape.features; ++j) {
      long double carry = p.grad_s_n[p.row(b, j)], sizes = std::fabs(carry);
      for (std::size_t i = p.shape.tokens; i-- > 0;) {
        const std::size_t index = p.index(b, i, j);
        const long double previous = i == 0 ? p.s0[p.row(b, j)] : p.s[p.index(b, i - 1, j)];
        const long double given = p.decay[index], log_p = p.gated ? oracle_log_sigmoid(given) : given;
        const long double past = log_p + previous, z = past - p.h[index], slope = p.gated ? oracle_sigmoid(-given) : 1;
        const bool nothing = past == -inf<long double> && p.h[index] == -inf<Real>;
        const long double w = nothing ? 0 : oracle_sigmoid(z), v = nothing ? 0 : oracle_sigmoid(-z);
        const long double lambda = p.grad_s[index] + carry;
        sizes += std::fabs(static_cast<long double>(p.grad_s[index]));
        compare(p.grad_h[index], v * lambda, v * sizes);
        carry = w > 0.5L ? lambda - v * lambda : w * lambda;
        sizes = w > 0.5L ? sizes - v * sizes : w * sizes;
        compare(p.grad_decay[index], carry * slope, sizes * slope);
      }
      compare(p.grad_s0[p.row(b, j)], carry, sizes);
    }
  return worst;
}

}  // namespace assay::optimized::tests
