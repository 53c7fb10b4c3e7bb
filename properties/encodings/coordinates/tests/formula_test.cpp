// Points and grids small enough to compute by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

namespace {

std::vector<double> made(const char* operation, core::tensors inputs, core::attributes settings = {}) {
  const auto y = reference::certify({reference::find_operation(operation), dtype::f64, std::move(inputs), settings});
  const auto& values = y.at("y").rounded.values;
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("coordinates/fourier_features/by_hand", "[property]") {
  // 2 x - 1 is 1/2 and -1: half a turn minus a quarter.
  const auto y = made("coordinates/fourier_features", {{"points", make_tensor(dtype::f64, {1, 1, 2}, {0.75, 0})},
                                                       {"matrix", make_tensor(dtype::f64, {2, 1}, {1, 0.25})}});
  CHECK(y[0] == Approx(1.0).epsilon(1e-15));
  CHECK(std::fabs(y[1]) < 1e-15);
}

TEST_CASE("coordinates/rotate/by_hand", "[property]") {
  // A column of two places after a class token: rows have the coordinates -1/2 and 1/2, and the column has 0.
  std::vector<double> x(12, 1.0);
  const auto y = made("coordinates/rotate", {{"x", make_tensor(dtype::f64, {1, 3, 1, 4}, x)}},
                      {{"rows", std::int64_t{2}}, {"columns", std::int64_t{1}}});
  CHECK(std::vector<double>(y.begin(), y.begin() + 4) == std::vector<double>{1, 1, 1, 1});
  for (const std::size_t token : {4, 8}) {
    CHECK(y[token] == Approx(-1.0).epsilon(1e-15));  // half a turn of the first and the third coordinate
    CHECK(y[token + 1] == 1.0);
    CHECK(y[token + 2] == Approx(-1.0).epsilon(1e-15));
    CHECK(y[token + 3] == 1.0);
  }
}

TEST_CASE("coordinates/convolved/by_hand", "[property]") {
  // A row of three places: the kernel's middle row is 10, 1, 100; the class token does not change.
  const auto y = made("coordinates/convolved",
                      {{"x", make_tensor(dtype::f64, {1, 4, 1}, {7, 1, 2, 3})},
                       {"weight", make_tensor(dtype::f64, {1, 3, 3}, {9, 9, 9, 10, 1, 100, 9, 9, 9})},
                       {"bias", make_tensor(dtype::f64, {1}, {0.5})}},
                      {{"rows", std::int64_t{1}}, {"columns", std::int64_t{3}}});
  CHECK(y == std::vector<double>{7, 202.5, 314.5, 26.5});
}

TEST_CASE("coordinates/convolved_line/by_hand", "[property]") {
  // An even kernel begins k/2 before its token; the gelu of a large number is the number itself.
  const auto y = made("coordinates/convolved_line",
                      {{"x", make_tensor(dtype::f64, {1, 3, 1}, {100, 200, 300})},
                       {"weight", make_tensor(dtype::f64, {1, 1, 2}, {10, 1})},
                       {"bias", make_tensor(dtype::f64, {1}, {0})}},
                      {{"groups", std::int64_t{1}}});
  CHECK(y == std::vector<double>{200, 1400, 2600});
}

TEST_CASE("coordinates/bucket_bias/by_hand", "[property]") {
  // With 8 buckets each direction has 4; two of them have one distance each.
  core::tensors inputs;
  std::vector<double> entries(8);
  for (std::size_t k = 0; k < 8; ++k) entries[k] = static_cast<double>(k);
  for (const char* table : {"table", "x_table", "y_table"}) {
    inputs[table] = make_tensor(dtype::f64, {1, 8}, entries);
    for (double& x : entries) x *= 10;
  }
  inputs["position"] = make_tensor(dtype::i64, {1, 2}, {0, 1});
  inputs["x"] = make_tensor(dtype::i64, {1, 2}, {7, 7});
  inputs["y"] = make_tensor(dtype::i64, {1, 2}, {100, 50});
  const auto made = reference::certify(
      {reference::find_operation("coordinates/bucket_bias"),
       dtype::f64,
       inputs,
       {{"buckets", std::int64_t{8}}, {"box_buckets", std::int64_t{8}}, {"box_max_distance", std::int64_t{32}}}});
  const auto& b = made.at("bias").rounded.values;
  // Forwards the distance is 1 in the text and -50 in y: buckets 5 and 3. Backwards it is -1 and 50: buckets 1 and 7.
  CHECK(std::vector<double>(b.begin(), b.end()) == std::vector<double>{0, 305, 701, 0});
}
