// Decays and outputs of forgetting attention small enough to compute by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;

TEST_CASE("fox/formula/by_hand", "[property]") {
  const core::tensor log_f = core::make_tensor(dtype::f64, {1, 3, 1}, {-8, -2, -0.5});
  const auto d = reference::certify({reference::find_operation("fox/decay"), dtype::f64, {{"log_f", log_f}}});
  const double below[] = {0, -INFINITY, -INFINITY, -2, 0, -INFINITY, -2.5, -0.5, 0};
  CHECK(std::equal(std::begin(below), std::end(below), d.at("D").rounded.values.begin()));

  const core::tensor zero = core::zeros(dtype::f64, {1, 1, 3, 1}),
                     v = core::make_tensor(dtype::f64, {1, 1, 3, 1}, {1, 10, 100});
  const auto o = reference::certify({reference::find_operation("fox/attention"),
                                     dtype::f64,
                                     {{"q", zero}, {"k", zero}, {"v", v}, {"log_f", log_f}}})
                     .at("o")
                     .rounded.values;
  const double f2 = std::exp(-2), f3 = std::exp(-0.5);  // F_ij = f_{j+1} ... f_i, and q . k = 0
  CHECK(o(0, 0, 0, 0) == 1.0);
  CHECK(o(0, 0, 1, 0) == Approx((f2 + 10) / (f2 + 1)).epsilon(1e-15));
  CHECK(o(0, 0, 2, 0) == Approx((f3 * f2 + f3 * 10 + 100) / (f3 * f2 + f3 + 1)).epsilon(1e-15));
}

TEST_CASE("fox/cached/by_hand", "[property]") {
  // Two queries, at the last two of five keys; in the second row three keys are padding.
  const core::tensor log_f = core::make_tensor(dtype::f64, {2, 5, 1}, {-8, -4, -2, -1, -0.5, NAN, NAN, NAN, -1, -0.5}),
                     first_key = core::make_tensor(dtype::i64, {2}, {0, 3});
  const core::operation* decay = reference::find_operation("fox/cached_decay");
  const auto d = reference::certify(
      {decay, dtype::f64, {{"log_f", log_f}, {"first_key", first_key}}, {{"queries", std::int64_t{2}}}});
  const double inf = INFINITY, rows[] = {-7,   -3,   -1,   0, -inf, -7.5, -3.5, -1.5, -0.5, 0,
                                         -inf, -inf, -inf, 0, -inf, -inf, -inf, -inf, -0.5, 0};
  CHECK(std::equal(std::begin(rows), std::end(rows), d.at("D").rounded.values.begin()));

  // A query among the padding sees nothing.
  const core::tensor q = core::zeros(dtype::f64, {1, 1, 2, 1}), k = core::zeros(dtype::f64, {1, 1, 3, 1}),
                     v = core::make_tensor(dtype::f64, {1, 1, 3, 1}, {NAN, 10, 100});
  const auto o = reference::certify({reference::find_operation("fox/cached_attention"),
                                     dtype::f64,
                                     {{"q", q},
                                      {"k", k},
                                      {"v", v},
                                      {"log_f", core::make_tensor(dtype::f64, {1, 3, 1}, {-8, -2, -0.5})},
                                      {"first_key", core::make_tensor(dtype::i64, {1}, {2})}}})
                     .at("o")
                     .rounded.values;
  CHECK(o(0, 0, 0, 0) == 0.0);
  CHECK(o(0, 0, 1, 0) == 100.0);
}
