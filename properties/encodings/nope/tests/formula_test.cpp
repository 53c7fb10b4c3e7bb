// The temperatures of Llama 4, and weights that a head's factor decides.
#include <catch2/catch.hpp>
#include <cmath>

#include "properties/kinds/table.hpp"
#include "reference/oracle.hpp"

using namespace assay;

TEST_CASE("nope/temperature/by_hand", "[property]") {
  const std::vector<double> f =
      properties::table_by_hand("nope/temperature", {{"position", {0, 8190, 8191, 16382, 16383, 1048575}}});
  CHECK(f[0] == 1);
  CHECK(f[1] == 1);
  CHECK(f[2] == Approx(1 + 0.1 * std::log(2.0)).epsilon(1e-15));
  CHECK(f[3] == f[2]);
  CHECK(f[4] == Approx(1 + 0.1 * std::log(3.0)).epsilon(1e-15));
  CHECK(f[5] == Approx(1 + 0.1 * std::log(129.0)).epsilon(1e-15));
}

// Two heads with factors 0 and 1: the first one gives the mean of the values that it sees.
TEST_CASE("nope/attention/by_hand", "[property]") {
  core::request call{reference::find_operation("nope/attention"), core::dtype::f64, {}};
  call.inputs.emplace("q", core::make_tensor(call.type, {1, 2, 2, 1}, std::vector<double>{1, 1, 1, 1}));
  call.inputs.emplace("k", core::make_tensor(call.type, {1, 2, 2, 1}, std::vector<double>{0, 2000, 0, 2000}));
  call.inputs.emplace("v", core::make_tensor(call.type, {1, 2, 2, 1}, std::vector<double>{1, 3, 1, 3}));
  call.inputs.emplace("head_scale", core::make_tensor(call.type, {2}, std::vector<double>{0, 1}));
  const core::tensor o = reference::certify(call).at("o").rounded;
  CHECK(std::vector<double>(o.values.begin(), o.values.end()) == std::vector<double>{1, 2, 1, 3});
}

TEST_CASE("nope/temperature/positions_from_0", "[property]") {
  const auto f = [](bool from_one, std::vector<double> position) {
    return properties::table_by_hand("nope/temperature", {{"position", std::move(position)}}, {{"from_one", from_one}});
  };
  CHECK(f(false, {0, 8191, 8192, 16384}) == f(true, {0, 8190, 8191, 16383}));
  CHECK(f(false, {8191}) != f(true, {8191}));
}
