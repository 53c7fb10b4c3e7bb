// A table that is stored in bf16 loses no more than its rounding: all positions are still told apart.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <vector>

#include "properties/encodings/sinusoidal/tests/tables.hpp"

using namespace assay;
using namespace assay::properties::encodings::sinusoidal::testing;
using core::dtype;

TEST_CASE("sinusoidal/table/stored_in_bf16", "[property]") {
  constexpr std::size_t width = 128, count = 4096;
  std::vector<double> positions(count);
  for (std::size_t i = 0; i < count; ++i) positions[i] = static_cast<double>(i);
  const core::tensor p = optimized_table(positions, width);
  std::set<std::vector<double>> rows;
  double error = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> row(width);
    for (std::size_t c = 0; c < width; ++c) {
      row[c] = core::round_to(dtype::bf16, p.values(i, c));
      error = std::max(error, std::fabs(row[c] - p.values(i, c)));
    }
    rows.insert(std::move(row));
  }
  INFO("largest error " << error);
  CHECK(error <= 0x1p-9);  // half a unit of the last place below 1: 2.0e-3
  CHECK(error > 1.9e-3);
  CHECK(rows.size() == count);
}
