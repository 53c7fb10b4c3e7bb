// Weights of stick-breaking attention small enough to check by hand.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "properties/tests/by_hand.hpp"
#include "reference/oracle.hpp"

using namespace assay;

namespace {

reference::certified_outputs weights_of(const std::vector<double>& z, std::size_t n, core::attributes settings = {}) {
  const core::operation& op = *reference::find_operation("sba/weights");
  core::request call{&op, core::dtype::f64, {}, std::move(settings)};
  call.inputs.emplace("z", core::make_tensor(call.type, {1, 1, n, z.size() / n}, z));
  return reference::certify(call);
}
std::vector<double> values_of(const reference::certified_outputs& all, const char* name) {
  const auto& x = all.at(name).rounded.values.storage();
  return {x.begin(), x.end()};
}

constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("sba/formula/by_hand", "[property]") {
  const auto half = weights_of({9, 9, 9, 0, 9, 9, 0, 0, 9}, 3);  // three queries, which are the keys
  CHECK(values_of(half, "a") == std::vector<double>{0, 0, 0, 0.5, 0, 0, 0.25, 0.5, 0});
  CHECK(values_of(half, "r") == std::vector<double>{1, 0.5, 0.25});
  const auto own = weights_of({0, 0, 0, 0}, 2, {{"attend_current", true}});
  CHECK(values_of(own, "a") == std::vector<double>{0.5, 0, 0.25, 0.5});
  CHECK(values_of(own, "r") == std::vector<double>{0.5, 0.25});
  // Queries are the last of the keys; queries before the first key see none.
  CHECK(values_of(weights_of({0, 0, 5, 5, 0, 0, 0, 5}, 2), "a") ==
        std::vector<double>{0.25, 0.5, 0, 0, 0.125, 0.25, 0.5, 0});
  CHECK(values_of(weights_of({7, 7, 0}, 3), "r") == std::vector<double>{1, 1, 1});
}

TEST_CASE("sba/formula/special_values", "[property]") {
  const auto special = weights_of({0, inf, -inf, 0}, 1, {{"attend_current", true}});
  CHECK(values_of(special, "a") == std::vector<double>{0, 0.5, 0, 0.5});
  CHECK(values_of(special, "r") == std::vector<double>{0});
  const auto nan = values_of(weights_of({0, std::nan(""), 0, 1}, 1), "a");
  CHECK((std::isnan(nan[0]) && std::isnan(nan[1]) && nan[2] == 0.5 && nan[3] == 0));
}

TEST_CASE("sba/formula/approximations_of_softplus", "[property]") {
  for (const auto& [softplus, z] : {std::pair{"linear_above_15", 15.5}, std::pair{"base2", 10.5}}) {
    const auto row = weights_of({z, 0}, 1, {{"softplus", std::string(softplus)}});
    CHECK(values_of(row, "a").front() == 1.0);
    CHECK(values_of(row, "r").front() == std::exp(-z));
    CHECK(values_of(weights_of({z - 0.5, 0}, 1, {{"softplus", std::string(softplus)}}), "a").front() < 1.0);
  }
}

TEST_CASE("sba/formula/attention_by_hand", "[property]") {
  const core::operation& op = *reference::find_operation("sba/attention");
  core::request call{&op, core::dtype::f64, {}, {{"remainder", std::string("value")}}};
  call.inputs.emplace("q", core::make_tensor(call.type, {1, 1, 2, 1}, std::vector<double>{0, 0}));
  call.inputs.emplace("k", core::make_tensor(call.type, {1, 1, 3, 1}, std::vector<double>{5, 6, 7}));
  call.inputs.emplace("v", core::make_tensor(call.type, {1, 1, 3, 1}, std::vector<double>{4, 8, 16}));
  CHECK(values_of(reference::certify(call), "o") == std::vector<double>{2 + 4, 1 + 4 + 4});  // logits 0: 1/2, then 1/4
  CHECK(values_of(reference::certify(call), "r") == std::vector<double>{0.5, 0.25});
  call.attributes = {};
  CHECK(values_of(reference::certify(call), "o") == std::vector<double>{2, 1 + 4});
}

// The remainder that a key leaves, y = sigmoid(-z), has the derivative y (1 - y) in automatic differentiation: for a
// key that takes almost nothing it keeps no digit.
TEST_CASE("sba/formula/gradients_of_products", "[property]") {
  const core::shape row{1, 1, 1, 1};
  std::size_t beyond_sequential = 0;
  for (float z = -3; z > -30; z -= 0.37F) {
    const auto one = [&](double x) { return core::make_tensor(core::dtype::f32, row, std::vector<double>{x}); };
    core::tensors in{{"z", one(z)}, {"grad_a", one(0)}};
    in.emplace("grad_r", core::make_tensor(core::dtype::f32, {1, 1, 1}, std::vector<double>{1}));
    const properties::call_by_hand gradient("sba/weights:vjp", core::dtype::f32, std::move(in),
                                            {{"attend_current", true}});
    const float y = 1 / (1 + std::exp(z)), slope = y * (1 - y);
    CAPTURE(z, slope, gradient.truth("grad_z"), gradient.bug("grad_z"));
    CHECK(gradient.allows(-slope, "grad_z"));
    if (z > -10) CHECK(!gradient.allows(0, "grad_z"));
    CHECK(gradient.bug("grad_z") < 2e-6);
    if (std::fabs(slope + gradient.truth("grad_z")) >
        gradient.of_class(reference::accuracy_class::sequential, "grad_z"))
      ++beyond_sequential;
  }
  CHECK(beyond_sequential > 20);
}
