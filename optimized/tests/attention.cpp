// Compares softmax weights with long double, and attention of one head with written-out sums. Tests rows of every
// length, masks, infinities and NaN, and heads that f32 cannot hold.
#include "optimized/attention.hpp"

#include "optimized/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

// Draws logits with masked keys: none, all keys behind the middle, or random keys.
std::vector<double> logits_of(generator& random, std::size_t keys, std::size_t kind, double spread) {
  std::vector<double> l(keys);
  for (std::size_t j = 0; j < keys; ++j) {
    l[j] = random.uniform(-spread, spread);
    if ((kind == 1 && j > keys / 2) || (kind == 2 && random.bits() % 3 == 0)) l[j] = -inf<double>;
  }
  return l;
}

std::vector<long double> exact_weights(const std::vector<double>& l) {
  const double top = *std::max_element(l.begin(), l.end());
  long double sum = 0;
  std::vector<long double> w(l.size());
  for (std::size_t j = 0; j < l.size(); ++j)
    w[j] = top == -inf<double> ? 0 : expl(l[j] - static_cast<long double>(top));
  for (const long double x : w) sum += x;
  for (long double& x : w) x = sum == 0 ? 0 : x / sum;
  return w;
}

// A head with random numbers, and its outputs and gradients in long double.
template <class Real>
struct head_problem {
  std::size_t n, m, d, e;
  std::vector<Real> q, k, v, g;
  std::vector<double> bias;
  double scale = 1;

  head_problem(std::uint64_t seed, std::size_t n_, std::size_t m_, std::size_t d_, std::size_t e_)
      : n(n_), m(m_), d(d_), e(e_) {
    generator random(seed);
    q = uniform<Real>(random, n * d, -1, 1), k = uniform<Real>(random, m * d, -1, 1);
    v = uniform<Real>(random, m * e, -1, 1), g = uniform<Real>(random, n * e, -1, 1);
    scale = logit_scale(true, d);
    // Queries keep the keys of a window, but every seventh query keeps none.
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < m; ++j) {
        const bool kept = j * n <= (i + 1) * m && (i + 1) * m < j * n + 3 * n * (m / 4 + 1) && i % 7 != 5;
        bias.push_back(kept ? random.uniform(-3, 0) : -inf<double>);
      }
  }
  [[nodiscard]] attention_head<Real> head() const {
    return {dense<const Real, 2>(q.data(), {n, d}), dense<const Real, 2>(k.data(), {m, d}),
            dense<const Real, 2>(v.data(), {m, e}), scale, [this](std::size_t first, std::size_t count, double* to) {
              std::copy_n(bias.begin() + static_cast<std::ptrdiff_t>(first * m), count * m, to);
            }};
  }
  [[nodiscard]] std::vector<Real> outputs() const {
    std::vector<Real> o(n * e);
    attend(active_kernels(), head(), dense<Real, 2>(o.data(), {n, e}));
    return o;
  }
  // Returns the gradients of q, k, v and the logits, one after the other.
  [[nodiscard]] std::vector<double> gradients() const {
    std::vector<Real> grad_q(n * d), grad_k(m * d), grad_v(m * e);
    std::vector<double> all, grad_logits;
    attend_vjp<Real>(
        active_kernels(), head(), dense<const Real, 2>(g.data(), {n, e}),
        {dense<Real, 2>(grad_q.data(), {n, d}), dense<Real, 2>(grad_k.data(), {m, d}),
         dense<Real, 2>(grad_v.data(), {m, e}), [&](std::size_t first, std::size_t count, const double* x) {
           REQUIRE(grad_logits.size() == first * m);
           grad_logits.insert(grad_logits.end(), x, x + count * m);
         }});
    for (const std::vector<Real>* part : {&grad_q, &grad_k, &grad_v}) all.insert(all.end(), part->begin(), part->end());
    all.insert(all.end(), grad_logits.begin(), grad_logits.end());
    return all;
  }
  // The largest allowed difference from `gradients` is a unit times `sizes`.
  struct exact_results {
    std::vector<long double> outputs, gradients, sizes;
  };
  [[nodiscard]] exact_results exact() const {
    exact_results x{std::vector<long double>(n * e), std::vector<long double>((n + m) * d + m * e + n * m), {}};
    x.sizes.resize(x.gradients.size());
    const auto add = [&x](std::size_t index, long double term, long double size) {
      x.gradients[index] += term, x.sizes[index] += size;
    };
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<double> l(m);
      for (std::size_t j = 0; j < m; ++j) {
        long double sum = 0;
        for (std::size_t c = 0; c < d; ++c) sum += static_cast<long double>(q[i * d + c]) * k[j * d + c];
        l[j] = bias[i * m + j] == -inf<double> ? -inf<double> : static_cast<double>(scale * sum + bias[i * m + j]);
      }
      const std::vector<long double> w = exact_weights(l);
      std::vector<long double> along(m), size(m);
      long double mean = 0, mean_size = 0;
      for (std::size_t j = 0; j < m; ++j) {
        for (std::size_t c = 0; c < e; ++c) {
          const long double value = v[j * e + c], cotangent = g[i * e + c];
          x.outputs[i * e + c] += w[j] * value;
          along[j] += value * cotangent, size[j] += fabsl(value * cotangent);
          add((n + m) * d + j * e + c, w[j] * cotangent, w[j] * fabsl(cotangent));
        }
        mean += w[j] * along[j], mean_size += w[j] * size[j];
      }
      for (std::size_t j = 0; j < m; ++j) {
        const long double gradient_of_logit = w[j] * (along[j] - mean), size_of_logit = w[j] * (size[j] + mean_size);
        add((n + m) * d + m * e + i * m + j, gradient_of_logit, size_of_logit);
        for (std::size_t c = 0; c < d; ++c) {
          add(i * d + c, scale * gradient_of_logit * k[j * d + c], scale * size_of_logit * fabsl(k[j * d + c]));
          add(n * d + j * d + c, scale * gradient_of_logit * q[i * d + c], scale * size_of_logit * fabsl(q[i * d + c]));
        }
      }
    }
    return x;
  }
};

}  // namespace

TEMPLATE_TEST_CASE("optimized/attention/weights", "[unit][optimized]", float, double) {
  const double unit = std::numeric_limits<TestType>::epsilon() / 2;
  on_every_target([&] {
    generator random(1);
    double largest_share = 0;
    for (std::size_t keys = 1; keys < 80; ++keys)
      for (std::size_t kind = 0; kind < 3; ++kind)
        for (const double spread : {1.0, 30.0, 800.0}) {
          const std::vector<double> l = logits_of(random, keys, kind, spread);
          std::vector<TestType> w(keys + 1, TestType(7));
          kernels_for<TestType>(active_kernels()).softmax({keys, l.data(), w.data()});
          REQUIRE(w[keys] == 7);  // the element behind the row
          const std::vector<long double> exact = exact_weights(l);
          const double top = *std::max_element(l.begin(), l.end());
          for (std::size_t j = 0; j < keys; ++j) {
            if (exact[j] == 0) REQUIRE(w[j] == 0);
            if (l[j] == -inf<double> || exact[j] < 16 * std::numeric_limits<TestType>::min()) continue;
            // The mean error of the exponents is at most log(keys). The sum adds doubles; a register holds at least two
            // of them.
            const auto count = static_cast<double>(keys);
            const double additions = sizeof(TestType) == sizeof(double) ? count / 2 + 2 : 0;
            const double bound = unit * ((top - l[j]) + std::log(count) + 2 * 1.63 + 1 + additions);
            const double share = static_cast<double>(fabsl(w[j] - exact[j]) / exact[j]) / bound;
            largest_share = std::max(largest_share, share);
          }
        }
    CHECK(largest_share < 1);
    CHECK(largest_share > 0.1);
  });
}

TEMPLATE_TEST_CASE("optimized/attention/weights_of_what_is_no_number", "[unit][optimized]", float, double) {
  on_every_target([] {
    for (const std::size_t keys : {3u, 16u, 37u})
      for (const double special : {nan<double>, inf<double>}) {
        std::vector<double> l(keys, 0.5);
        l[1] = -inf<double>, l[keys - 1] = special;
        std::vector<TestType> w(keys);
        kernels_for<TestType>(active_kernels()).softmax({keys, l.data(), w.data()});
        // Beside +inf all weights are 0, and the weight of +inf itself is NaN.
        for (std::size_t j = 0; j < keys; ++j) {
          const bool is_number = j == 1 || (j + 1 < keys && special == inf<double>);
          CHECK((is_number ? w[j] == 0 : std::isnan(w[j])));
        }
      }
  });
}

TEMPLATE_TEST_CASE("optimized/attention/outputs_and_gradients", "[unit][optimized]", float, double) {
  const long double unit = std::numeric_limits<TestType>::epsilon() / 2;
  on_every_target([&] {
    std::uint64_t seed = 0;
    for (const std::size_t n : {1u, 5u, 64u, 65u, 130u})
      for (const std::size_t m : {1u, 17u, 64u, 131u}) {
        ++seed;
        const head_problem<TestType> p(seed, n, m, 1 + seed % 19, 1 + seed % 7);
        const auto exact = p.exact();
        const std::vector<TestType> o = p.outputs();
        const std::vector<double> gradients = p.gradients();
        INFO(n << " queries, " << m << " keys, seed " << seed);
        REQUIRE(gradients.size() == exact.gradients.size());
        const long double error_of_output =
            unit * (static_cast<long double>(m) + 2 * logl(static_cast<long double>(m)) + 6);
        for (std::size_t index = 0; index < o.size(); ++index)
          REQUIRE(fabsl(o[index] - exact.outputs[index]) <= error_of_output);
        // The terms count two uses of a weight, the products along the values, and the sums over keys and queries.
        const auto sums = static_cast<long double>(n + m + p.e);
        for (std::size_t index = 0; index < gradients.size(); ++index)
          REQUIRE(fabsl(gradients[index] - exact.gradients[index]) <= unit * (2 * sums + 40) * exact.sizes[index]);
      }
  });
}

TEMPLATE_TEST_CASE("optimized/attention/keys_kept_apart_are_not_read", "[unit][optimized]", float, double) {
  head_problem<TestType> p(3, 70, 40, 5, 3);
  for (std::size_t i = 0; i < p.n; ++i) p.bias[i * p.m + 20] = -inf<double>;
  const auto o = p.outputs();
  const auto gradients = p.gradients();
  const TestType huge = std::numeric_limits<TestType>::max();
  for (const TestType strange : {nan<TestType>, inf<TestType>, huge})
    for (const bool in_keys : {true, false}) {
      head_problem<TestType> changed = p;
      if (in_keys) std::fill_n(changed.k.begin() + 20 * static_cast<std::ptrdiff_t>(p.d), p.d, strange);
      if (!in_keys) std::fill_n(changed.v.begin() + 20 * static_cast<std::ptrdiff_t>(p.e), p.e, strange);
      INFO(strange << (in_keys ? " in k" : " in v"));
      // The order of sums and the arithmetic may differ.
      const auto near = [](auto x, auto y, double units) {
        return std::fabs(static_cast<double>(x) - static_cast<double>(y)) <=
               units * std::numeric_limits<TestType>::epsilon();
      };
      const auto o_of_changed = changed.outputs();
      const auto gradients_of_changed = changed.gradients();
      for (std::size_t index = 0; index < o.size(); ++index) REQUIRE(near(o[index], o_of_changed[index], 100));
      for (std::size_t index = 0; index < gradients.size(); ++index)
        REQUIRE(near(gradients[index], gradients_of_changed[index], 1000));
    }
}

TEST_CASE("optimized/attention/what_f32_cannot_hold_is_computed_in_double", "[unit][optimized]") {
  for (const int exponent : {-100, -40, 40, 100}) {
    // o is linear in v, and the gradients are linear in v and g. Powers of two therefore change no bits, except those
    // lost below 2^-149.
    head_problem<float> p(5, 66, 33, 9, 4);
    head_problem<float> scaled = p;
    for (float& x : scaled.v) x = std::ldexp(x, exponent);
    for (float& x : scaled.g) x = std::ldexp(x, -exponent);
    const auto o = scaled.outputs();
    const auto gradients = scaled.gradients();
    const auto exact = p.exact();
    const std::size_t first_of_v = (p.n + p.m) * p.d, first_of_logits = first_of_v + p.m * p.e;
    for (std::size_t index = 0; index < o.size(); ++index)
      REQUIRE(fabsl(std::ldexp(static_cast<long double>(o[index]), -exponent) - exact.outputs[index]) <=
              0x1p-24L * fabsl(exact.outputs[index]) * 1.01L + 0x1p-50L);
    for (std::size_t index = 0; index < gradients.size(); ++index) {
      const bool scales = index >= first_of_v && index < first_of_logits;
      const long double found = std::ldexp(static_cast<long double>(gradients[index]), scales ? exponent : 0);
      REQUIRE(fabsl(found - exact.gradients[index]) <= 0x1p-24L * fabsl(exact.gradients[index]) * 1.01L + 0x1p-40L);
    }
  }
}

}  // namespace assay::optimized::tests
