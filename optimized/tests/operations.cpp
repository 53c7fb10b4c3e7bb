// Tests the operations on tensors: all of them, empty sizes, errors, and embed_position against long double.
#include "optimized/operations.hpp"

#include <algorithm>
#include <map>

#include "optimized/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

using core::dtype;

core::tensor random_tensor(dtype type, const core::shape& shape, std::uint64_t seed) {
  generator random(seed);
  return core::make_tensor(type, shape, uniform<double>(random, core::element_count(shape), -1, 1));
}

core::tensors scan_inputs(dtype type, const char* decay, std::size_t B, std::size_t n, std::size_t d) {
  core::tensors in{{"h", random_tensor(type, {B, n, d}, 2)},
                   {"s0", random_tensor(type, {B, d}, 3)},
                   {"grad_s", random_tensor(type, {B, n, d}, 4)},
                   {"grad_s_n", random_tensor(type, {B, d}, 5)}};
  in[decay] = random_tensor(type, {B, n, d}, 1);
  return in;
}

core::tensors embed_inputs(dtype type, std::size_t B, std::size_t n, std::size_t e, std::size_t d) {
  return {{"x", random_tensor(type, {B, n, e}, 1)},      {"W_H", random_tensor(type, {2 * d, e}, 2)},
          {"b_H", random_tensor(type, {2 * d}, 3)},      {"W_R", random_tensor(type, {e, d}, 4)},
          {"b_R", random_tensor(type, {e}, 5)},          {"s0", random_tensor(type, {B, d}, 6)},
          {"grad_y", random_tensor(type, {B, n, e}, 7)}, {"grad_s_n", random_tensor(type, {B, d}, 8)}};
}

core::tensors call(const char* operation, dtype type, const core::tensors& in) {
  auto out = evaluate(operation, type, in);
  REQUIRE(out.has_value());
  return *out;
}

using vector = std::vector<long double>;

vector wide(const core::tensor& t) { return {t.values.begin(), t.values.end()}; }

// Returns <cotangent, outputs> of embed_position as a function of its inputs, in long double, and stores y in `y`.
long double pairing(const core::tensors& in, std::size_t B, std::size_t n, std::size_t e, std::size_t d,
                    const std::string& moved, std::size_t index, long double step, vector* y = nullptr) {
  std::map<std::string, vector> v;
  for (const auto& [name, t] : in) v[name] = wide(t);
  if (!moved.empty()) v[moved][index] += step;
  long double sum = 0;
  for (std::size_t b = 0; b < B; ++b) {
    vector s(v["s0"].begin() + static_cast<std::ptrdiff_t>(b * d),
             v["s0"].begin() + static_cast<std::ptrdiff_t>((b + 1) * d));
    for (std::size_t i = 0; i < n; ++i) {
      const long double* x = &v["x"][(b * n + i) * e];
      for (std::size_t j = 0; j < d; ++j) {
        long double g = v["b_H"][j], h = v["b_H"][d + j];
        for (std::size_t k = 0; k < e; ++k) g += v["W_H"][j * e + k] * x[k], h += v["W_H"][(d + j) * e + k] * x[k];
        s[j] = oracle_log_sum_exp(oracle_log_sigmoid(g) + s[j], h);
      }
      for (std::size_t k = 0; k < e; ++k) {
        long double out = x[k] + v["b_R"][k];
        for (std::size_t j = 0; j < d; ++j) out += v["W_R"][k * d + j] * s[j];
        if (y != nullptr) y->push_back(out);
        sum += out * v["grad_y"][(b * n + i) * e + k];
      }
    }
    for (std::size_t j = 0; j < d; ++j) sum += s[j] * v["grad_s_n"][b * d + j];
  }
  return sum;
}

}  // namespace

TEST_CASE("heinsen/embed_position/optimized_values_and_gradients", "[optimized][heinsen]") {
  constexpr std::size_t B = 2, n = 11, e = 5, d = 9;  // more rows than one task takes
  const core::tensors in = embed_inputs(dtype::f64, B, n, e, d);
  on_every_target([&] {
    vector exact;
    pairing(in, B, n, e, d, "", 0, 0, &exact);
    const core::tensors out = call("heinsen/embed_position", dtype::f64, in);
    for (std::size_t i = 0; i < exact.size(); ++i)
      CHECK(out.at("y").values.flat(i) == Approx(static_cast<double>(exact[i])).epsilon(0).margin(5e-14));

    const core::tensors gradients = call("heinsen/embed_position:vjp", dtype::f64, in);
    REQUIRE(gradients.size() == 6);
    for (const char* name : {"x", "W_H", "b_H", "W_R", "b_R", "s0"}) {
      const core::tensor& gradient = gradients.at("grad_" + std::string(name));
      REQUIRE(gradient.shape() == in.at(name).shape());
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        const auto moved = [&](long double step) { return pairing(in, B, n, e, d, name, i, step); };
        const long double difference = (moved(1e-5L) - moved(-1e-5L)) / 2e-5L;
        CAPTURE(name, i);
        CHECK(gradient.values.flat(i) == Approx(static_cast<double>(difference)).epsilon(0).margin(1e-8));
      }
    }
  });
}

TEMPLATE_TEST_CASE("heinsen/embed_position/optimized_threads_agree", "[optimized][heinsen]", float, double) {
  const dtype type = sizeof(TestType) == sizeof(float) ? dtype::f32 : dtype::f64;
  for (const std::size_t e : {1u, 3u, 16u, 37u, 70u})
    for (const std::size_t d : {1u, 5u, 35u}) {
      const core::tensors in = embed_inputs(type, 3, 7, e, d);
      on_every_target([&] {
        set_threads(1);
        const auto y = call("heinsen/embed_position", type, in);
        const auto gradients = call("heinsen/embed_position:vjp", type, in);
        for (const int count : {2, 3, 7}) {
          set_threads(count);
          CAPTURE(e, d, count);
          for (const auto& [name, t] : call("heinsen/embed_position", type, in)) CHECK(core::identical(t, y.at(name)));
          for (const auto& [name, t] : call("heinsen/embed_position:vjp", type, in))
            CHECK(core::identical(t, gradients.at(name)));
        }
      });
      set_threads(0);
    }
}

// If B, n, d or e is 0, the outputs have the right shape, s_n = s0, grad_s0 = grad_s_n, and sums over nothing are 0.
TEST_CASE("heinsen/scan/optimized_empty_sizes", "[optimized][heinsen]") {
  struct sizes {
    std::size_t B, n, e, d;
  };
  for (const auto& [B, n, e, d] : {sizes{2, 0, 3, 5}, sizes{0, 4, 3, 5}, sizes{2, 4, 3, 0}, sizes{2, 4, 0, 5}, sizes{}})
    for (const dtype type : {dtype::f32, dtype::f64}) {
      CAPTURE(B, n, e, d);
      for (const bool gated : {false, true}) {
        const core::tensors in = scan_inputs(type, gated ? "g" : "log_p", B, n, d);
        const std::string name = gated ? "heinsen/gated_scan" : "heinsen/scan";
        const core::tensors out = call(name.c_str(), type, in), gradients = call((name + ":vjp").c_str(), type, in);
        CHECK(out.at("s").shape() == core::shape{B, n, d});
        CHECK(gradients.at("grad_h").shape() == core::shape{B, n, d});
        if (n == 0) CHECK(core::identical(out.at("s_n"), in.at("s0")));
        if (n == 0) CHECK(core::identical(gradients.at("grad_s0"), in.at("grad_s_n")));
      }
      const core::tensors in = embed_inputs(type, B, n, e, d);
      const core::tensors out = call("heinsen/embed_position", type, in);
      const core::tensors gradients = call("heinsen/embed_position:vjp", type, in);
      CHECK(out.at("y").shape() == core::shape{B, n, e});
      CHECK(out.at("s_n").shape() == core::shape{B, d});
      for (const auto& [name, t] : gradients) CHECK(t.shape() == in.at(name.substr(5)).shape());
      if (n == 0) CHECK(core::identical(out.at("s_n"), in.at("s0")));
      if (n == 0 || B == 0) CHECK(core::identical(gradients.at("grad_W_H"), core::zeros(type, {2 * d, e})));
      if (n == 0 || B == 0) CHECK(core::identical(gradients.at("grad_b_R"), core::zeros(type, {e})));
    }
}

TEST_CASE("heinsen/scan/optimized_tensors_match_arrays", "[optimized][heinsen]") {
  const core::tensors in = scan_inputs(dtype::f32, "g", 2, 5, 9);
  scan_problem<float> p({2, 5, 9}, true);
  const auto fill = [&](std::vector<float>& to, const char* name) {
    std::transform(in.at(name).values.begin(), in.at(name).values.end(), to.begin(),
                   [](double x) { return static_cast<float>(x); });
  };
  fill(p.decay, "g"), fill(p.h, "h"), fill(p.s0, "s0"), fill(p.grad_s, "grad_s"), fill(p.grad_s_n, "grad_s_n");
  p.run();
  const auto equal = [](const core::tensor& t, const std::vector<float>& values) {
    return t.type == dtype::f32 && std::equal(values.begin(), values.end(), t.values.begin(), t.values.end());
  };
  const core::tensors out = call("heinsen/gated_scan", dtype::f32, in);
  CHECK(equal(out.at("s"), p.s));
  CHECK(equal(out.at("s_n"), p.s_n));
  const core::tensors gradients = call("heinsen/gated_scan:vjp", dtype::f32, in);
  CHECK(equal(gradients.at("grad_g"), p.grad_decay));
  CHECK(equal(gradients.at("grad_h"), p.grad_h));
  CHECK(equal(gradients.at("grad_s0"), p.grad_s0));
}

TEST_CASE("optimized/operations/errors", "[optimized]") {
  CHECK(routines().size() >= 6);
  CHECK_FALSE(evaluate("heinsen/no_such", dtype::f32, {}).has_value());
  const auto half = evaluate("heinsen/scan:jvp", dtype::f16, scan_inputs(dtype::f16, "log_p", 1, 2, 3));
  REQUIRE_FALSE(half.has_value());
  CHECK(half.error().message.find("f16") != std::string::npos);

  std::vector<float> two(2), three(3);
  const auto rows = [](std::vector<float>& x) { return dense<float, 3>(x.data(), {1, 1, x.size()}); };
  const auto state = [](std::vector<float>& x) { return dense<float, 2>(x.data(), {1, x.size()}); };
  const auto scan = [&](auto& log_p, auto& s0, auto& s_n) {
    heinsen::scan<float>(process_execution(), {rows(log_p), rows(three), state(s0)}, {rows(three), state(s_n)});
  };
  CHECK_NOTHROW(scan(three, three, three));
  CHECK_THROWS_AS(scan(two, three, three), core::contract_violation);
  CHECK_THROWS_AS(scan(three, two, three), core::contract_violation);
  CHECK_THROWS_AS(scan(three, three, two), core::contract_violation);
}

}  // namespace assay::optimized::tests
