// Shifts, norms and gates small enough to compute by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

TEST_CASE("fox_pro/shift/by_hand", "[property]") {
  // sigmoid(log 3) = 3/4 of the token before; the first token is padding, and the last gate is closed.
  const auto y = reference::certify({reference::find_operation("fox_pro/shift"),
                                     dtype::f64,
                                     {{"x", make_tensor(dtype::f64, {1, 4, 1, 1}, {NAN, 8, 4, 2})},
                                      {"a", make_tensor(dtype::f64, {1, 4, 1}, {std::log(3), 0, 0, -INFINITY})},
                                      {"x0", make_tensor(dtype::f64, {1, 1, 1}, {-4})},
                                      {"visible", make_tensor(dtype::i64, {1, 4}, {0, 1, 1, 1})}}});
  const auto& shifted = y.at("y").rounded.values;
  CHECK(shifted(0, 0, 0, 0) == Approx(-3.0).epsilon(1e-15));  // 3/4 of -4, and nothing of the padding
  CHECK(shifted(0, 1, 0, 0) == 4.0);                          // half of 8, and of 0
  CHECK(shifted(0, 2, 0, 0) == 6.0);
  CHECK(shifted(0, 3, 0, 0) == 2.0);
  CHECK(y.at("x_n").rounded.values(0, 0, 0) == 2.0);
}

TEST_CASE("fox_pro/output/by_hand", "[property]") {
  // The mean of the squares of (3, -5) is 17.
  const core::tensor o = make_tensor(dtype::f64, {1, 1, 2, 2}, {3, -5, 0, 0}),
                     w = make_tensor(dtype::f64, {2, 2}, {1, 2, 7, 7}),
                     g = make_tensor(dtype::f64, {1, 1, 2, 2}, {0, -INFINITY, 1, 1});
  const auto y = reference::certify({reference::find_operation("fox_pro/output"),
                                     dtype::f64,
                                     {{"o", o}, {"w", w}, {"g", g}},
                                     {{"epsilon", 1e-6}}})
                     .at("y")
                     .rounded.values;
  CHECK(y(0, 0, 0, 0) == Approx(1.5 / std::sqrt(17 + 1e-6)).epsilon(1e-15));
  CHECK(y(0, 0, 0, 1) == 0.0);
  CHECK(y(0, 0, 1, 0) == 0.0);  // a row of zeros
  const auto x = reference::certify({reference::find_operation("fox_pro/norm"),
                                     dtype::f64,
                                     {{"x", make_tensor(dtype::f64, {1, 1, 2, 1}, {1, 1})},
                                      {"w", make_tensor(dtype::f64, {2, 1}, {2, 5})}},
                                     {{"shared", true}, {"epsilon", 1.0}}})
                     .at("y")
                     .rounded.values;
  CHECK(x(0, 0, 0, 0) == Approx(std::sqrt(2)).epsilon(1e-15));
  CHECK(x(0, 0, 1, 0) == x(0, 0, 0, 0));  // the weights of the first head
}
