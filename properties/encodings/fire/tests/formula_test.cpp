// Biases of FIRE small enough to check by hand: one hidden unit of weight 1, with weight -2 in the head, plus 1/2.
#include <catch2/catch.hpp>
#include <cmath>

#include "properties/kinds/pair_bias.hpp"
#include "properties/tests/by_hand.hpp"

using namespace assay;
using properties::bias_by_hand;

namespace {

// The gradient at one pair with the cotangent 1, for a head with one hidden unit of weight 1.
properties::call_by_hand gradient_of(std::int64_t query, std::int64_t key, const std::map<std::string, double>& others,
                                     const core::attributes& settings) {
  std::map<std::string, double> network{{"c", 0.1}, {"multiplier", 1}, {"w1", 1}, {"b1", 0.5}, {"w2", 1}, {"b2", 0}};
  for (const auto& [name, x] : others) network[name] = x;
  const auto one = [](core::dtype type, std::size_t axes, double x) {
    return core::make_tensor(type, core::shape(axes, 1), std::vector<double>{x});
  };
  core::tensors in{{"grad_bias", one(core::dtype::f32, 3, 1)},
                   {"query_position", one(core::dtype::i64, 1, static_cast<double>(query))},
                   {"key_position", one(core::dtype::i64, 1, static_cast<double>(key))}};
  for (const auto& [name, x] : network) in.emplace(name, one(core::dtype::f32, name == "w2" ? 2 : 1, x));
  return {"fire/bias:vjp", core::dtype::f32, std::move(in), settings};
}

}  // namespace

// At a tie torch.max halves the gradient, as jax.numpy.maximum does; others give one side all or nothing.
TEST_CASE("fire/formula/gradient_at_a_tie", "[property]") {
  const double c = 0.1F, psi = std::log1p(c * 8), by_length = c / (1 + c * 8) * 8;
  for (const double epsilon : {1e-6, 0.0})
    for (const double multiplier : {1.0, -1.0}) {
      const double distance_psi = std::log1p(c * 5),
                   slope = -multiplier * distance_psi / std::pow(psi + epsilon, 2) * by_length;
      const auto gradient = gradient_of(8, 3, {{"multiplier", multiplier}}, {{"threshold", 8.0}, {"epsilon", epsilon}});
      CHECK(gradient.truth("grad_multiplier") == Approx(slope / 2));
      for (const double share : {0.0, 0.5, 1.0}) CHECK(gradient.allows(share * slope, "grad_multiplier"));
      for (const double share : {-0.5, 1.5}) CHECK(!gradient.allows(share * slope, "grad_multiplier"));
      const auto below = gradient_of(7, 3, {{"multiplier", multiplier}}, {{"threshold", 8.0}, {"epsilon", epsilon}});
      const double alone = -multiplier * std::log1p(c * 4) / std::pow(psi + epsilon, 2) * by_length;
      CHECK((below.allows(alone, "grad_multiplier") && !below.allows(alone / 2, "grad_multiplier")));
    }
  // With the key at the beginning and without epsilon, x is 1 and depends on the multiplier alone.
  const auto first = gradient_of(8, 0, {}, {{"threshold", 8.0}, {"epsilon", 0.0}});
  CHECK(first.truth("grad_multiplier") == Approx(-by_length / psi / 2));
  CHECK(first.truth("grad_w1") == 1.0);
  CHECK(first.truth("grad_c") == 0.0);
}

TEST_CASE("fire/formula/gradient_at_zero", "[property]") {
  const auto no_scale = gradient_of(8, 3, {{"c", 0}}, {}), no_threshold = gradient_of(8, 3, {{"multiplier", 0}}, {});
  CHECK((no_scale.truth("grad_c") == 0.0 && no_scale.bug("grad_c") < 1e-30));
  CHECK((no_threshold.truth("grad_multiplier") == 0.0 && no_threshold.bug("grad_multiplier") < 1e-30));
  // At a hidden unit of 0, ReLU has the slope 0, a clamp 1, jax.nn.leaky_relu 1, and torch's leaky ReLU 1/100.
  for (const char* activation : {"relu", "leaky_relu"}) {
    const auto gradient = gradient_of(8, 8, {{"b1", 0}}, {{"activation", std::string(activation)}});
    for (const double slope : {0.01, 0.5, 1.0}) CHECK(gradient.allows(slope, "grad_b1"));
    CHECK(gradient.allows(0, "grad_b1"));
    const auto beside = gradient_of(8, 8, {{"b1", -0.01}}, {{"activation", std::string(activation)}});
    CHECK(!beside.allows(1.0, "grad_b1"));
  }
  CHECK(std::isnan(gradient_of(8, 3, {{"w1", std::nan("")}}, {}).truth("grad_w2")));
}

TEST_CASE("fire/formula/by_hand", "[property]") {
  const std::map<std::string, std::vector<double>> network{{"c", {-1}}, {"multiplier", {-1}}, {"w1", {1}},
                                                           {"b1", {0}}, {"w2", {-2}},         {"b2", {0.5}}};
  const core::attributes settings{{"threshold", 3.0}, {"epsilon", 0.0}};
  // x = log(1 + t) / log(1 + max(3, i))
  const auto near = bias_by_hand("fire/bias", network, {2}, {2, 1, 3}, settings).values;
  CHECK(near(0, 0, 0) == 0.5);
  CHECK(near(0, 0, 1) == -0.5);  // log 2 / log 4
  CHECK(std::isinf(near(0, 0, 2)));
  const auto far = bias_by_hand("fire/bias", network, {15}, {12, 0}, settings).values;
  CHECK(far(0, 0, 0) == -0.5);  // log 4 / log 16
  CHECK(far(0, 0, 1) == -1.5);  // 1
}
