// Grids small enough to compute by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

namespace {

std::vector<double> resampled(std::vector<double> column, std::int64_t to, core::attributes settings) {
  settings["rows"] = to, settings["columns"] = std::int64_t{1};
  const std::size_t from = column.size();
  const auto made = reference::certify({reference::find_operation("vision/interpolated_table"),
                                        dtype::f64,
                                        {{"table", make_tensor(dtype::f64, {from, 1, 1}, std::move(column))},
                                         {"kept", make_tensor(dtype::f64, {0, 1}, {})}},
                                        settings});
  const auto& y = made.at("y").rounded.values;
  return {y.begin(), y.end()};
}
const std::string linear = "bilinear";

}  // namespace

TEST_CASE("vision/interpolated_table/by_hand", "[property]") {
  // Two numbers resampled to four: the places are -1/4, 1/4, 3/4 and 5/4.
  CHECK(resampled({0, 4}, 4, {{"mode", linear}}) == std::vector<double>{0, 1, 3, 4});
  // With aligned corners the places are 0, 1/3, 2/3 and 1.
  CHECK(resampled({0, 3}, 4, {{"mode", linear}, {"align_corners", true}}) == std::vector<double>{0, 1, 2, 3});
  // Cubic interpolation at 1/2 between 0 and 1 in 0, 1, 0, 0: K(1/2) = 9/16 + 1/32 for A = -3/4.
  CHECK(resampled({0, 1, 0, 0}, 2, {})[0] == 0.59375);
  // Four numbers resampled to two: triangles reach two steps to each side, and one number lies outside.
  const auto mean = resampled({8, 0, 0, 0}, 2, {{"mode", linear}, {"antialias", true}});
  CHECK(mean[0] == Approx(8 * 3.0 / 7).epsilon(1e-15));
  CHECK(mean[1] == Approx(0.0));
  // One number resampled to three, and three numbers to three.
  CHECK(resampled({5}, 3, {}) == std::vector<double>{5, 5, 5});
  CHECK(resampled({5, 7, 9}, 3, {}) == std::vector<double>{5, 7, 9});
}

TEST_CASE("vision/relative_bias/by_hand", "[property]") {
  // A row of two: the table has the differences -1, 0, 1.
  core::tensors inputs{{"table", make_tensor(dtype::f64, {1, 3, 1}, {10, 20, 30})}};
  const auto bias = [&](const char* operation, core::attributes settings = {}) {
    const auto made = reference::certify({reference::find_operation(operation), dtype::f64, inputs, settings});
    const auto& b = made.at("bias").rounded.values;
    return std::vector<double>(b.begin(), b.end());
  };
  CHECK(bias("vision/relative_bias") == std::vector<double>{20, 10, 30, 20});
  CHECK(bias("vision/relative_bias", {{"sign", std::string("key_minus_query")}}) ==
        std::vector<double>{20, 30, 10, 20});
  inputs["rows"] = make_tensor(dtype::f64, {3, 1}, {1, 2, 3});
  CHECK(bias("vision/relative_bias_with_class") == std::vector<double>{3, 1, 1, 2, 20, 10, 2, 30, 20});
}

TEST_CASE("vision/decomposed_bias/by_hand", "[property]") {
  // Two rows of one place: the first query uses the entries 0 and -1 of rows, and 0 of columns.
  const auto made = reference::certify({reference::find_operation("vision/decomposed_bias"),
                                        dtype::f64,
                                        {{"rel_rows", make_tensor(dtype::f64, {3, 1}, {10, 20, 30})},
                                         {"rel_columns", make_tensor(dtype::f64, {1, 1}, {5})},
                                         {"q", make_tensor(dtype::f64, {1, 2, 1, 1}, {1, 2})}},
                                        {}});
  const auto& b = made.at("bias").rounded.values;
  CHECK(std::vector<double>(b.begin(), b.end()) == std::vector<double>{25, 15, 70, 50});
}

TEST_CASE("vision/masked_sinusoids/by_hand", "[property]") {
  // Two of three columns belong to the image: their positions are 1, 2, 2. Without a division these are the first
  // angles.
  const auto made = reference::certify({reference::find_operation("vision/masked_sinusoids"),
                                        dtype::f64,
                                        {{"mask", make_tensor(dtype::i64, {1, 1, 3}, {1, 1, 0})}},
                                        {{"frequencies", std::int64_t{1}}, {"normalized", false}}});
  const auto& p = made.at("p").rounded.values;
  CHECK(p(0, 0, 1, 2) == Approx(std::sin(2)).epsilon(1e-15));
  CHECK(p(0, 0, 2, 3) == Approx(std::cos(2)).epsilon(1e-15));
  CHECK(p(0, 0, 0, 0) == Approx(std::sin(1)).epsilon(1e-15));
  CHECK(p(0, 0, 2, 1) == 1.0);  // a column that is padding alone
}

TEST_CASE("vision/log_coordinates/by_hand", "[property]") {
  // 8 * 7 / 7 = 8 and its negative half: log2(9) / 3 and -log2(5) / 3.
  const auto made = reference::certify(
      {reference::find_operation("vision/log_coordinates"),
       dtype::f64,
       {{"row_distance", make_tensor(dtype::i64, {1}, {7})}, {"column_distance", make_tensor(dtype::i64, {1}, {-4})}},
       {{"window_columns", std::int64_t{9}}}});
  const auto& x = made.at("x").rounded.values;
  CHECK(x(0, 0, 0) == Approx(std::log2(9) / 3).epsilon(1e-15));
  CHECK(x(0, 0, 1) == Approx(-std::log2(5) / 3).epsilon(1e-15));
}
