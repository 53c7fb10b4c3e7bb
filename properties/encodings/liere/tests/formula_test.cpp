// Rotations by matrices small enough to check by hand, and the cases in which they equal other encodings.
#include <catch2/catch.hpp>
#include <cmath>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

TEST_CASE("liere/rotation/by_hand", "[property]") {
  // Two axes: 1/2 of the first generator's 1, plus 2 of the second one's 1/4, gives an angle of 1, backwards.
  core::request call{reference::find_operation("liere/rotation"),
                     dtype::f64,
                     {{"generators", make_tensor(dtype::f64, {2, 2, 2}, {7, 1, 5, 7, 7, 0.25, -3, 7})},
                      {"position", make_tensor(dtype::f64, {2, 2}, {0.5, 2, 0, 0})}}};
  const auto upper = reference::certify(call).at("R").rounded.values;
  CHECK(upper(0, 0, 0) == std::cos(1.0));
  CHECK(upper(0, 0, 1) == std::sin(1.0));
  CHECK(upper(0, 1, 0) == -std::sin(1.0));
  CHECK((upper(1, 0, 0) == 1.0 && upper(1, 0, 1) == 0.0 && upper(1, 1, 1) == 1.0));
  // 1/2 (1 - 5) + 2 (1/4 + 3) = 9/2.
  call.attributes["form"] = std::string("difference");
  CHECK(reference::certify(call).at("R").rounded.values(0, 0, 1) == Approx(std::sin(4.5)).epsilon(1e-15));
}

TEST_CASE("liere/rotation/determinant_and_trace", "[property]") {
  // A rotation about the vector (a, b, c) by an angle equal to its length: the trace is 1 + 2 cos; it is no reflection.
  for (const double t : {0.25, 1.0, 4.0, 16.0}) {
    const auto r =
        reference::certify({reference::find_operation("liere/rotation"),
                            dtype::f64,
                            {{"generators", make_tensor(dtype::f64, {1, 3, 3}, {0, 2, -1, 0, 0, 3, 0, 0, 0})},
                             {"position", make_tensor(dtype::f64, {1, 1}, {t})}}})
            .at("R")
            .rounded.values;
    const auto minor = [&](std::size_t i, std::size_t j) { return r(0, 1, i) * r(0, 2, j) - r(0, 1, j) * r(0, 2, i); };
    CHECK(std::fabs(r(0, 0, 0) * minor(1, 2) - r(0, 0, 1) * minor(0, 2) + r(0, 0, 2) * minor(0, 1) - 1) < 1e-15);
    CHECK(std::fabs(r(0, 0, 0) + r(0, 1, 1) + r(0, 2, 2) - (1 + 2 * std::cos(t * std::sqrt(14.0)))) < 1e-14);
  }
}

TEST_CASE("liere/rotate/of_two_is_rope_axes", "[property]") {
  // Blocks of two turn by sum_k p_k theta_k with theta = -U_01, as rope_axes/rotate_by does with interleaved pairs.
  const std::vector<double> position{0.5, 2, -1, 3}, x{1, 2, 3, 4, 5, -1, 0.5, 2, 9, 8};
  const core::tensor generators =
      make_tensor(dtype::f64, {1, 2, 2, 2, 2}, {0, -0.75, 0, 0, 0, 1.5, 0, 0, 0, 0.25, 0, 0, 0, -2, 0, 0});
  const core::tensor theta = make_tensor(dtype::f64, {1, 2, 2}, {0.75, -1.5, -0.25, 2});
  const auto y = reference::certify({reference::find_operation("liere/rotate"),
                                     dtype::f64,
                                     {{"x", make_tensor(dtype::f64, {1, 2, 1, 5}, x)},
                                      {"generators", generators},
                                      {"position", make_tensor(dtype::f64, {2, 2}, position)}}})
                     .at("y")
                     .rounded.values;
  const auto z = reference::certify({reference::find_operation("rope_axes/rotate_by"),
                                     dtype::f64,
                                     {{"x", make_tensor(dtype::f64, {1, 2, 1, 5}, x)},
                                      {"theta", theta},
                                      {"position", make_tensor(dtype::f64, {1, 2, 2}, position)}}})
                     .at("y")
                     .rounded.values;
  CHECK(y == z);
}

TEST_CASE("liere/rotate/noncommuting", "[property]") {
  // R(tp)^T R(tq) differs from R(t (q - p)) by -t^2 / 2 [X_p, X_q]. Axes e_1 and e_2 have a commutator about e_3.
  const auto rotation = [](double p, double q) {
    return reference::certify({reference::find_operation("liere/rotation"),
                               dtype::f64,
                               {{"generators", make_tensor(dtype::f64, {2, 3, 3},
                                                           {0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0})},
                                {"position", make_tensor(dtype::f64, {1, 2}, {p, q})}}})
        .at("R")
        .rounded.values;
  };
  for (const double t : {1e-2, 1e-3}) {
    const auto one = rotation(t, 0), other = rotation(0, t), apart = rotation(-t, t);
    double product = 0.0;
    for (std::size_t k = 0; k < 3; ++k) product += one(0, k, 0) * other(0, k, 2);
    CHECK(product - apart(0, 0, 2) == Approx(-t * t / 2).epsilon(2 * t));  // [X_1, X_2] has the entry 1 in (0, 2)
  }
}
