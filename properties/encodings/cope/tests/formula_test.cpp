// Contextual positions small enough to count by hand: gates of 1/2, 0 and 1.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "properties/tests/by_hand.hpp"
#include "reference/oracle.hpp"

using namespace assay;

namespace {

std::vector<double> positions_of(const std::vector<double>& g, std::size_t n, core::attributes settings = {}) {
  const core::operation& op = *reference::find_operation("cope/positions");
  core::request call{&op, core::dtype::f64, {}, std::move(settings)};
  call.inputs.emplace("g", core::make_tensor(call.type, {1, 1, n, g.size() / n}, g));
  const reference::certified_outputs outputs = reference::certify(call);
  const auto& p = outputs.at("p").rounded.values.storage();
  return {p.begin(), p.end()};
}

// The gradient of the gates for one query that sees all of them.
properties::call_by_hand gradient_of(core::dtype type, const std::vector<double>& g,
                                     const std::vector<double>& grad_p) {
  const core::shape row{1, 1, 1, g.size()};
  return {"cope/positions:vjp",
          type,
          {{"g", core::make_tensor(type, row, g)}, {"grad_p", core::make_tensor(type, row, grad_p)}},
          {{"causal", false}}};
}

}  // namespace

// torch.sigmoid has the derivative y (1 - y): for a gate that is nearly open it keeps no digit.
TEST_CASE("cope/formula/gradients_of_automatic_differentiation", "[property]") {
  std::size_t beyond_sequential = 0;
  for (float g = 3; g < 24; g += 0.37F) {
    const auto open = gradient_of(core::dtype::f32, {g}, {1}), closed = gradient_of(core::dtype::f32, {-g}, {1});
    const float y = 1 / (1 + std::exp(-g)), slope = y * (1 - y);
    CAPTURE(g, slope, open.truth("grad_g"), open.bug("grad_g"));
    CHECK(open.allows(slope, "grad_g"));
    if (g < 10) CHECK(!open.allows(0, "grad_g"));
    if (std::fabs(slope - open.truth("grad_g")) > open.of_class(reference::accuracy_class::sequential, "grad_g"))
      ++beyond_sequential;
    CHECK(closed.truth("grad_g") > 100 * closed.bug("grad_g"));  // nothing is lost there
  }
  CHECK(beyond_sequential > 20);
}

// A sum of gates that is 0 is not at a limit: no gradient beside a closed gate needs a large allowance.
TEST_CASE("cope/formula/gradients_beside_closed_gates", "[property]") {
  for (const double closed : {-std::numeric_limits<double>::infinity(), -40.0}) {
    const auto gradient = gradient_of(core::dtype::f64, {2, 1, closed}, {1, -1, 1});
    CHECK(gradient.allows(std::exp(-2) / std::pow(1 + std::exp(-2), 2), "grad_g", 0));
    CHECK(gradient.allows(0, "grad_g", 1));
    CHECK(std::fabs(gradient.truth("grad_g", 2)) < 1e-17);
    for (const std::size_t j : {0U, 1U, 2U}) CHECK(gradient.bug("grad_g", j) < 1e-14);
  }
}

TEST_CASE("cope/formula/by_hand", "[property]") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  // The last two queries of three.
  CHECK(positions_of({0, 0, 9, 0, 0, 0}, 2) == std::vector<double>{1, 0.5, 0, 1.5, 1, 0.5});
  CHECK(positions_of({0, 0, 0}, 1, {{"positions", std::int64_t{2}}}) == std::vector<double>{1, 1, 0.5});
  CHECK(positions_of({0, 0, 0, 0}, 2, {{"causal", false}}) == std::vector<double>{1, 0.5, 1, 0.5});
  CHECK(positions_of({inf, -inf, inf, 0}, 1) == std::vector<double>{2.5, 1.5, 1.5, 0.5});
  const auto nan = positions_of({0, std::nan(""), 0}, 1);
  CHECK((std::isnan(nan[0]) && std::isnan(nan[1]) && nan[2] == 0.5));
}

TEST_CASE("cope/formula/interpolation_by_hand", "[property]") {
  const core::operation& op = *reference::find_operation("cope/interpolate");
  core::request call{&op, core::dtype::f64, {}};
  call.inputs.emplace("p", core::make_tensor(call.type, {1, 1, 1, 4}, std::vector<double>{0, 0.25, 2, 1.5}));
  call.inputs.emplace("z", core::make_tensor(call.type, {1, 1, 1, 3}, std::vector<double>{4, 8, 32}));
  const reference::certified_outputs outputs = reference::certify(call);
  const auto& b = outputs.at("b").rounded.values.storage();
  CHECK(std::vector<double>(b.begin(), b.end()) == std::vector<double>{4, 5, 32, 20});
}

// Keys of 0 have gates of 1/2: the older key is at position 1, the query's own key half way to it.
TEST_CASE("cope/formula/attention_by_hand", "[property]") {
  const core::operation& op = *reference::find_operation("cope/attention");
  const auto o = [&](const char* position_scale, double at_1) {
    core::request call{&op, core::dtype::f64, {}, {{"position_scale", std::string(position_scale)}}};
    call.inputs.emplace("q", core::make_tensor(call.type, {1, 1, 1, 4}, std::vector<double>{1, 0, 0, 0}));
    call.inputs.emplace("k", core::make_tensor(call.type, {1, 1, 2, 4}, std::vector<double>(8)));
    call.inputs.emplace("v", core::make_tensor(call.type, {1, 1, 2, 1}, std::vector<double>{1, 0}));
    call.inputs.emplace("table", core::make_tensor(call.type, {4, 2}, std::vector<double>{0, at_1, 5, 6, 7, 8, 9, 1}));
    return reference::certify(call).at("o").rounded.values.storage()[0];
  };
  CHECK(o("one", 2 * std::log(3)) == Approx(0.75));
  CHECK(o("inverse_sqrt", 4 * std::log(3)) == Approx(0.75));
}
