// Scores of two tokens: vectors of two features are multiplied by [sin t, cos t].
#include <catch2/catch.hpp>
#include <cmath>

#include "reference/oracle.hpp"

using namespace assay;

TEST_CASE("tener/scores/by_hand", "[property]") {
  core::request call{reference::find_operation("tener/scores"), core::dtype::f64, {}};
  const auto put = [&](const char* name, core::shape shape, const std::vector<double>& x) {
    call.inputs.emplace(name, core::make_tensor(call.type, std::move(shape), x));
  };
  put("q", {1, 1, 2, 2}, {1, 0, 0, 2});
  put("k", {1, 1, 2, 2}, {4, 0, 0, 8});
  put("u", {1, 2}, {0, 1});
  put("v", {1, 2}, {16, 0});
  const auto scores = [&] {
    const core::tensor s = reference::certify(call).at("s").rounded;
    return std::vector<double>{s.values.begin(), s.values.end()};
  };
  const double sine = std::sin(1.0), cosine = std::cos(1.0);
  const auto check = [&](const std::vector<double>& expected) {
    const std::vector<double> s = scores();
    for (std::size_t k = 0; k < 4; ++k) CHECK(s[k] == Approx(expected[k]).epsilon(1e-14));
  };
  call.attributes["terms"] = std::string("paper");
  check({4, 8 - 17 * sine, 16 * sine + 2 * cosine, 24 + 2});
  call.attributes["terms"] = std::string("code");
  check({4, 8 + 17 * sine + 8 * cosine, -16 * sine + 2 * cosine + 4 * sine, 24 + 2 + 8});
}
