// Words and scores small enough to compute by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

namespace {

core::request two_tokens(std::vector<double> amplitude, std::vector<double> frequency, std::vector<double> phase) {
  const auto parameter = [](std::vector<double> x) { return make_tensor(dtype::f64, {1, 2, 1}, std::move(x)); };
  return {reference::find_operation("complex_order/embed"),
          dtype::f64,
          {{"amplitude", parameter(std::move(amplitude))},
           {"frequency", parameter(std::move(frequency))},
           {"phase", parameter(std::move(phase))},
           {"position", make_tensor(dtype::i64, {1, 2}, {3, 5})}}};
}

// q k = (3 + 4i)(1 + 2i) + (1 - i)(2 + i) = -5 + 10i + 3 - i; <q, k> = (11 - 2i) + (1 - 3i).
core::request two_components(const char* product) {
  return {reference::find_operation("complex_order/scores"),
          dtype::f64,
          {{"q", make_tensor(dtype::f64, {1, 1, 1, 2, 2}, {3, 4, 1, -1})},
           {"k", make_tensor(dtype::f64, {1, 1, 1, 2, 2}, {1, 2, 2, 1})}},
          {{"product", std::string(product)}}};
}

}  // namespace

TEST_CASE("complex_order/embed/by_hand", "[property]") {
  core::request call = two_tokens({2, -3}, {0.5, 0}, {0.25, 1});
  auto f = reference::certify(call).at("f").rounded.values;
  CHECK(f(0, 0, 0, 0) == Approx(2 * std::cos(1.75)).epsilon(1e-15));
  CHECK(f(0, 0, 0, 1) == Approx(2 * std::sin(1.75)).epsilon(1e-15));
  CHECK(f(0, 1, 0, 0) == Approx(-3 * std::cos(1.0)).epsilon(1e-15));
  call.attributes = {{"reversed", true}};
  f = reference::certify(call).at("f").rounded.values;
  CHECK(f(0, 0, 0, 0) == Approx(2 * std::cos(2.75)).epsilon(1e-15));
  CHECK(f(0, 1, 0, 1) == Approx(-3 * std::sin(1.0)).epsilon(1e-15));
}

TEST_CASE("complex_order/embed/sinusoids_are_words_of_amplitude_1", "[property]") {
  const auto f = reference::certify(two_tokens({1, 1}, {0.75, 0.125}, {0, 0})).at("f").rounded.values;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto p = reference::certify({reference::find_operation("sinusoidal/table_at"),
                                       dtype::f64,
                                       {{"position", make_tensor(dtype::f64, {1}, {i == 0 ? 3.0 : 5.0})},
                                        {"theta", make_tensor(dtype::f64, {1}, {i == 0 ? 0.75 : 0.125})}},
                                       {{"first", std::string("cosine")}}})
                       .at("p")
                       .rounded.values;
    CHECK(f(0, i, 0, 0) == p(0, 0));
    CHECK(f(0, i, 0, 1) == p(0, 1));
  }
}

TEST_CASE("complex_order/scores/by_hand", "[property]") {
  CHECK(reference::certify(two_components("hermitian")).at("s").rounded.values(0, 0, 0, 0) ==
        Approx(12 / std::sqrt(2.0)).epsilon(1e-15));
  CHECK(reference::certify(two_components("bilinear")).at("s").rounded.values(0, 0, 0, 0) ==
        Approx(std::sqrt(85.0 / 2)).epsilon(1e-15));
}

TEST_CASE("complex_order/scores/gradient_of_a_modulus_of_0_is_0", "[property]") {
  core::request call = two_components("bilinear");
  call.operation = reference::find_operation("complex_order/scores:vjp");
  call.inputs.emplace("grad_s", make_tensor(dtype::f64, {1, 1, 1, 1}, {1}));
  for (double& x : call.inputs.at("q").values) x = 0.0;
  for (const auto& [name, gradient] : reference::certify(call))
    for (const double x : gradient.rounded.values) CHECK(x == 0.0);
}

TEST_CASE("complex_order/scores/squares_that_leave_the_format_have_no_allowance", "[property]") {
  // In f16 a modulus above sqrt(65504) is infinite as the root of a sum of squares, but right with hypot.
  core::request call = two_components("bilinear");
  call.type = dtype::f16;
  for (auto& [name, x] : call.inputs) x.type = dtype::f16;
  for (double& x : call.inputs.at("q").values) x *= 100;
  const auto allowed = [&](const core::precisions& formats) {
    return reference::allow(call, formats).at("s").k[1].storage()[0];
  };
  CHECK(std::isinf(allowed(dtype::f16)));
  CHECK(allowed(dtype::f32) * 0x1p-24 < 1e-3);
}
