// Scores small enough to compute by hand.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

namespace {

// The content that has this magnitude.
double content_of(double magnitude) { return std::log(std::expm1(magnitude)); }

std::vector<double> scores(std::vector<double> phase, const core::attributes& settings, std::size_t group = 1) {
  const std::size_t r = phase.size();
  std::vector<double> q;
  for (std::size_t h = 0; h < group; ++h)
    for (const double x : {content_of(2), content_of(3)}) q.push_back(x);
  const core::tensor s =
      reference::certify({reference::find_operation("polar/scores"),
                          dtype::f64,
                          {{"q", make_tensor(dtype::f64, {1, 1, group, 2}, q)},
                           {"k", make_tensor(dtype::f64, {1, 1, 1, 2}, {content_of(5), content_of(0.5)})},
                           {"phase", make_tensor(dtype::f64, {1, r}, std::move(phase))},
                           {"query_position", make_tensor(dtype::i64, {1, 1}, {7})},
                           {"key_position", make_tensor(dtype::i64, {1, 1}, {4})}},
                          settings})
          .at("s")
          .rounded;
  return {s.values.begin(), s.values.end()};
}

}  // namespace

TEST_CASE("polar/scores/by_hand", "[property]") {
  // Magnitudes 2, 3 for the query and 5, 1/2 for the key; frequencies 1 and 1/10; a distance of -3.
  core::attributes settings{{"base", 100.0}, {"scale", std::string("one")}};
  CHECK(scores({-0.25, -1}, settings)[0] == Approx(10 * std::cos(3.25) + 1.5 * std::cos(1.3)).epsilon(1e-15));
  // Phases above 0 and beyond a turn are cut.
  CHECK(scores({1, -7}, settings)[0] == Approx(10 * std::cos(3.0) + 1.5 * std::cos(0.3)).epsilon(1e-15));
  settings["bound"] = std::string("free");
  CHECK(scores({1, -7}, settings)[0] == Approx(10 * std::cos(2.0) + 1.5 * std::cos(7.3)).epsilon(1e-15));
  settings["scale"] = std::string("inverse_sqrt");
  CHECK(scores({1, -7}, settings)[0] ==
        Approx((10 * std::cos(2.0) + 1.5 * std::cos(7.3)) / std::sqrt(2.0)).epsilon(1e-15));
}

TEST_CASE("polar/scores/features_without_a_phase", "[property]") {
  const double rest = content_of(3) * content_of(0.5);
  CHECK(scores({-0.25}, {{"scale", std::string("one")}})[0] == Approx(10 * std::cos(3.25) + rest).epsilon(1e-15));
  CHECK(scores({}, {{"scale", std::string("one")}})[0] == Approx(content_of(2) * content_of(5) + rest).epsilon(1e-15));
}

TEST_CASE("polar/scores/heads_share_keys", "[property]") {
  const auto s = scores({-0.25, -1}, {{"group", std::int64_t{3}}}, 3);
  CHECK(s.size() == 3);
  CHECK(s[0] == s[2]);
}

TEST_CASE("polar/grape_rotation/by_hand", "[property]") {
  // a = (2, 0, 0) and b = (1, 3, 0) span an area of 6: with m omega = pi / 12 it is a quarter turn from the second axis
  // to the first.
  const double quarter = std::acos(-1.0) / 2;
  const auto y = reference::certify({reference::find_operation("polar/grape_rotation"),
                                     dtype::f64,
                                     {{"x", make_tensor(dtype::f64, {1, 2, 1, 3}, {5, 7, 11, 5, 7, 11})},
                                      {"a", make_tensor(dtype::f64, {1, 3}, {2, 0, 0})},
                                      {"b", make_tensor(dtype::f64, {1, 3}, {1, 3, 0})},
                                      {"omega", make_tensor(dtype::f64, {1}, {quarter / 6})},
                                      {"position", make_tensor(dtype::i64, {1, 2}, {0, 1})}},
                                     {}})
                     .at("y")
                     .rounded.values;
  for (std::size_t k = 0; k < 3; ++k) CHECK(y(0, 0, 0, k) == std::vector<double>{5, 7, 11}[k]);
  CHECK(y(0, 1, 0, 0) == Approx(7).epsilon(1e-14));
  CHECK(y(0, 1, 0, 1) == Approx(-5).epsilon(1e-14));
  CHECK(y(0, 1, 0, 2) == 11.0);
}
