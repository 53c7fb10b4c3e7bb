// Compares the vector-Jacobian products with a long double adjoint, and tests their exact identities.
#include "optimized/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

// Returns the largest ratio of the error to the bound that follows from the weights and lambda. The relative error of a
// weight is that of exp and a few roundings, plus the effect on z of the roundings of log p and t.
template <class Real>
long double worst_gradient(const scan_problem<Real>& p) {
  const long double u = unit_roundoff<Real>;
  long double worst = 0;
  const auto compare = [&](Real computed, long double exact, long double bound) {
    worst = std::max(worst, std::fabs(computed - exact) / bound);
  };
  for (std::size_t b = 0; b < p.shape.batch; ++b)
    for (std::size_t j = 0; j < p.shape.features; ++j) {
      long double carry = p.grad_s_n[p.row(b, j)], error = 0;
      for (std::size_t i = p.shape.tokens; i-- > 0;) {
        const std::size_t index = p.index(b, i, j);
        const long double previous = i == 0 ? p.s0[p.row(b, j)] : p.s[p.index(b, i - 1, j)];
        const long double given = p.decay[index], log_p = p.gated ? oracle_log_sigmoid(given) : given;
        const long double slope = p.gated ? oracle_sigmoid(-given) : 1;
        const long double t = log_p + previous, z = t - p.h[index];
        const long double w = oracle_sigmoid(z), v = oracle_sigmoid(-z), lambda = p.grad_s[index] + carry;
        const long double lambda_error = error + u * std::fabs(lambda);
        const long double relative = u * (6 + 4 * std::fabs(log_p) + std::fabs(t) + std::fabs(z));
        error = w * (lambda_error + relative * std::fabs(lambda));
        carry = w * lambda;
        compare(p.grad_decay[index], carry * slope, slope * (error + 6 * u * std::fabs(carry)));
        compare(p.grad_h[index], v * lambda, v * (lambda_error + relative * std::fabs(lambda)));
      }
      compare(p.grad_s0[p.row(b, j)], carry, error);
    }
  return worst;
}

}  // namespace

// The error does not grow with the length where decays near 1 keep every contribution. The states are near 0, because
// weights are as uncertain as states.
TEMPLATE_TEST_CASE("heinsen/scan:vjp/optimized_error_of_long_memory", "[optimized][heinsen]", float, double) {
  on_every_target([] {
    for (const std::size_t features : {1u, 3u, 8u, 13u, 40u})
      for (const double decay : {-1e-7, -1e-4, -0.03}) {
        scan_problem<TestType> p({1, 60000 / features, features}, false, 5);
        generator random(6);
        for (TestType& x : p.decay) x = static_cast<TestType>(decay * random.uniform(0.5, 1.5));
        const double gathered = std::log(std::min(static_cast<double>(p.shape.tokens), -1 / decay));
        for (TestType& x : p.h) x -= static_cast<TestType>(gathered);
        for (TestType& x : p.grad_s) x = x > TestType(0.99) ? x : TestType(0);
        p.run();
        CAPTURE(features, decay);
        CHECK(worst_gradient_error(p) < 16);
      }
  });
}

TEMPLATE_TEST_CASE("heinsen/scan:vjp/optimized_adjoint", "[optimized][heinsen]", float, double) {
  on_every_target([] {
    for (const bool gated : {false, true}) {
      scan_problem<TestType> p({2, 200, 37}, gated, 3);
      p.run();
      CHECK(worst_gradient(p) < 1.01L);
      scan_problem<TestType> slow({1, 1000, 9}, gated, 4);  // decays near 1
      for (TestType& x : slow.decay) x = gated ? x + 9 : x * TestType(1e-5);
      slow.run();
      CHECK(worst_gradient(slow) < 1.01L);
    }
  });
}

// The last tokens hand two words to the tokens before them, so the bits are those of one call.
TEMPLATE_TEST_CASE("heinsen/scan:vjp/optimized_in_two_calls", "[optimized][heinsen]", float, double) {
  on_every_target([] {
    scan_problem<TestType> p({1, 50, 37}, false, 6), whole = p;
    whole.run();
    p.forward();
    std::vector<TestType> high(37), low(37), none(37);
    const auto go_back = [&](std::size_t first, std::size_t count, const auto& grad_s_n, const auto& grad_s_n_low,
                             auto& grad_s0, auto& grad_s0_low) {
      const auto part = [&](auto& array) {
        auto v = p.elements(array);
        v.data = v.at(0, first, 0), v.shape[1] = count;
        return v;
      };
      const TestType* before = first == 0 ? p.s0.data() : &p.s[p.index(0, first - 1, 0)];
      heinsen::scan_vjp<TestType>(
          process_execution(),
          {part(std::as_const(p.decay)), part(std::as_const(p.h)), dense<const TestType, 2>(before, {1, 37})},
          {part(std::as_const(p.s)), part(std::as_const(p.grad_s)), p.states(grad_s_n), p.states(grad_s_n_low)},
          {part(p.grad_decay), part(p.grad_h), p.states(grad_s0), p.states(grad_s0_low)});
    };
    go_back(30, 20, p.grad_s_n, none, high, low);
    CHECK(low != none);
    go_back(0, 30, high, low, p.grad_s0, none);
    CHECK(same_results(p, whole));
  });
}

// The adjoint equals the derivative: central differences of the long double recurrence.
TEST_CASE("heinsen/scan:vjp/optimized_derivative", "[optimized][heinsen]") {
  for (const bool gated : {false, true}) {
    scan_problem<double> p({1, 6, 1}, gated, 8);
    p.run();
    const auto value = [&](std::size_t input, long double step) {
      const auto moved = [&](double x, std::size_t index) { return index == input ? x + step : x; };
      long double s = moved(p.s0[0], 12), sum = 0;
      for (std::size_t i = 0; i < 6; ++i) {
        const long double given = moved(p.decay[i], i), log_p = gated ? oracle_log_sigmoid(given) : given;
        s = oracle_log_sum_exp(log_p + s, moved(p.h[i], 6 + i));
        sum += p.grad_s[i] * s;
      }
      return sum + p.grad_s_n[0] * s;
    };
    for (std::size_t input = 0; input <= 12; ++input) {
      const long double difference = (value(input, 1e-5L) - value(input, -1e-5L)) / 2e-5L;
      const double gradient = input < 6 ? p.grad_decay[input] : input < 12 ? p.grad_h[input - 6] : p.grad_s0[0];
      CAPTURE(gated, input);
      CHECK(gradient == Approx(static_cast<double>(difference)).epsilon(0).margin(1e-9));
    }
  }
}

// A NaN input makes its gradients NaN beside every other term, also +inf. Two terms +inf share the gradient.
TEMPLATE_TEST_CASE("heinsen/scan:vjp/optimized_nan_beside_infinity", "[optimized][heinsen]", float, double) {
  constexpr TestType values[] = {-inf<TestType>, -1, inf<TestType>, nan<TestType>};
  on_every_target([&] {
    for (const std::size_t tokens : {3u, 70u})
      for (const TestType past : values)
        for (const TestType last : values) {
          scan_problem<TestType> p({1, tokens, 3}, false, 2);
          const std::size_t end = p.index(0, tokens - 1, 1);
          for (TestType& x : p.decay) x = 0;
          p.s[p.index(0, tokens - 2, 1)] = past;
          p.h[end] = last;
          p.grad_s[end] = p.grad_s_n[1] = TestType(0.5);
          p.backward();
          const bool unknown = std::isnan(past) || std::isnan(last);
          CAPTURE(tokens, past, last);
          CHECK(std::isnan(p.grad_h[end]) == (unknown && last != -inf<TestType>));
          CHECK(std::isnan(p.grad_decay[end]) == (unknown && past != -inf<TestType>));
          if (past == inf<TestType> && last == inf<TestType>) CHECK(p.grad_h[end] == TestType(0.5));
        }
  });
}

// Chunks that hand both words of their carry to the chunk before them give the bits of the whole call. Few features in
// f32 are weighed in blocks of time; there, results agree up to one or two roundings.
TEMPLATE_TEST_CASE("heinsen/scan:vjp/optimized_chunks", "[optimized][heinsen]", float, double) {
  using T = TestType;
  on_every_target([] {
    for (const std::size_t features : {3u, 40u}) {
      scan_problem<T> p({2, 200, features}, true, 5);
      for (T& g : p.decay) g += 6;  // a long memory
      p.run();
      scan_problem<T> chunked = p;
      std::vector<T> low(p.s0.size(), T(0)), high = p.grad_s_n, first(p.s0.size());
      for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{137, 200}, {130, 137}, {0, 130}}) {
        const auto part = [begin = begin, end = end](auto v) {
          v.data = v.at(0u, begin, 0u), v.shape[1] = end - begin;
          return v;
        };
        if (begin > 0)
          for (std::size_t b = 0; b < 2; ++b)
            for (std::size_t j = 0; j < features; ++j) first[p.row(b, j)] = p.s[p.index(b, begin - 1, j)];
        const auto& q = std::as_const(chunked);
        heinsen::gated_scan_vjp<T>(
            process_execution(),
            {part(p.elements(q.decay)), part(p.elements(q.h)), p.states(std::as_const(begin > 0 ? first : p.s0))},
            {part(p.elements(q.s)), part(p.elements(q.grad_s)), p.states(std::as_const(high)),
             p.states(std::as_const(low))},
            {part(p.elements(chunked.grad_decay)), part(p.elements(chunked.grad_h)), p.states(chunked.grad_s0),
             p.states(chunked.s_n_low)});
        high = chunked.grad_s0, low = chunked.s_n_low;
      }
      CAPTURE(features);
      const auto agree = [&](const std::vector<T>& x, const std::vector<T>& y) {
        T largest = 0;
        for (const T element : y) largest = std::max(largest, std::fabs(element));
        const bool in_blocks = features == 3 && sizeof(T) == sizeof(float);
        const T apart = in_blocks ? 2 * std::numeric_limits<T>::epsilon() * largest : T(0);
        return std::equal(x.begin(), x.end(), y.begin(), y.end(), [=](T l, T r) { return std::fabs(l - r) <= apart; });
      };
      CHECK(agree(chunked.grad_decay, p.grad_decay));
      CHECK(agree(chunked.grad_h, p.grad_h));
      CHECK(agree(chunked.grad_s0, p.grad_s0));
    }
  });
}

// sum grad_h + grad_s0 = sum grad_s + grad_s_n, because shifting h and s0 shifts s.
TEST_CASE("heinsen/scan:vjp/optimized_conservation", "[optimized][heinsen]") {
  on_every_target([] {
    scan_problem<double> p({1, 50, 6}, false, 9);
    p.run();
    for (std::size_t j = 0; j < 6; ++j) {
      double received = p.grad_s0[j], sent = p.grad_s_n[j];
      for (std::size_t i = 0; i < 50; ++i) received += p.grad_h[p.index(0, i, j)], sent += p.grad_s[p.index(0, i, j)];
      CHECK(received == Approx(sent).epsilon(0).margin(1e-13));
    }
  });
}

}  // namespace assay::optimized::tests
