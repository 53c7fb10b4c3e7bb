// States small enough to compute by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "properties/tests/by_hand.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

TEST_CASE("tape/apply/by_hand", "[property]") {
  const auto y = reference::certify({reference::find_operation("tape/apply"),
                                     dtype::f64,
                                     {{"x", make_tensor(dtype::f64, {1, 1, 1, 2}, {3, 5})},
                                      {"e_cos", make_tensor(dtype::f64, {1, 1, 1, 2}, {2, 7})},
                                      {"e_sin", make_tensor(dtype::f64, {1, 1, 1, 2}, {1, 10})}}})
                     .at("y")
                     .rounded.values;
  CHECK(y(0, 0, 0, 0) == 1.0);   // 3 * 2 - 5 * 1
  CHECK(y(0, 0, 0, 1) == 65.0);  // 5 * 7 + 3 * 10
}

TEST_CASE("tape/mix/by_hand", "[property]") {
  core::request call{reference::find_operation("tape/mix"),
                     dtype::f64,
                     {{"e_cos", make_tensor(dtype::f64, {1, 2, 1, 1}, {1, 10})},
                      {"e_sin", make_tensor(dtype::f64, {1, 2, 1, 1}, {0, 2})},
                      {"weights", make_tensor(dtype::f64, {1, 2, 1, 1}, {2, 0.5})},
                      {"mix", make_tensor(dtype::f64, {2, 2}, {1, 2, 3, 4})}}};
  auto f = reference::certify(call).at("f_cos").rounded.values;
  CHECK(f(0, 0, 0, 0) == 7.0);   // 1 + (1 + 2) * 2 * 1
  CHECK(f(0, 1, 0, 0) == 45.0);  // 10 + (3 + 4) * 10 / 2
  call.attributes = {{"across_heads", true}};
  f = reference::certify(call).at("f_cos").rounded.values;
  CHECK(f(0, 0, 0, 0) == 13.0);  // 1 + 1 * 2 + 2 * 5
  CHECK(f(0, 1, 0, 0) == 36.0);  // 10 + 3 * 2 + 4 * 5
}

TEST_CASE("tape/update/by_hand", "[property]") {
  const auto f = reference::certify({reference::find_operation("tape/update"),
                                     dtype::f64,
                                     {{"e_cos", make_tensor(dtype::f64, {1, 2, 1, 1}, {1, 10})},
                                      {"e_sin", make_tensor(dtype::f64, {1, 2, 1, 1}, {0, 0})},
                                      {"x", make_tensor(dtype::f64, {1, 1, 1}, {3})},
                                      {"up", make_tensor(dtype::f64, {1, 2}, {2, -1})},
                                      {"gate", make_tensor(dtype::f64, {1, 1}, {0.5})},
                                      {"down", make_tensor(dtype::f64, {2, 1}, {1, -2})}}})
                     .at("f_cos")
                     .rounded.values;
  const double gated = 1.5 / (1 + std::exp(-1.5)) * (2 * 1 - 1 * 10);
  CHECK(f(0, 0, 0, 0) == Approx(1 + gated).epsilon(1e-15));
  CHECK(f(0, 1, 0, 0) == Approx(10 - 2 * gated).epsilon(1e-15));
}

// torch.nn.functional.silu has the derivative y (1 + z (1 - y)), y = sigmoid(z), which may err by z u and more.
TEST_CASE("tape/update/gradient_of_automatic_differentiation", "[property]") {
  const auto one = [](std::size_t axes, double x) {
    return make_tensor(dtype::f32, core::shape(axes, 1), std::vector<double>{x});
  };
  for (float z = 1; z < 24; z += 0.37F) {
    const properties::call_by_hand gradient("tape/update:vjp", dtype::f32,
                                            {{"e_cos", one(4, 1)},
                                             {"e_sin", one(4, 0)},
                                             {"x", one(3, 1)},
                                             {"up", one(2, 1)},
                                             {"gate", one(2, z)},
                                             {"down", one(2, 1)},
                                             {"grad_f_cos", one(4, 1)},
                                             {"grad_f_sin", one(4, 0)}});
    // The sigmoid as 1 / (1 + exp(-z)), and its neighbours: vectorised code errs by that much.
    const float y = 1 / (1 + std::exp(-z));
    CAPTURE(z, gradient.truth("grad_gate"), gradient.bug("grad_gate"));
    for (const float w : {y, std::nextafter(y, 0.0F), std::nextafter(y, 1.0F)})
      CHECK(gradient.allows(w * (1 + z * (1 - w)), "grad_gate"));
    CHECK(gradient.bug("grad_gate") < 2e-5);
    if (z < 10) CHECK(!gradient.allows(y, "grad_gate"));  // the second term is missing
  }
}
