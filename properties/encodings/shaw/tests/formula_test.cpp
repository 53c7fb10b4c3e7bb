// Scores small enough to see: queries of 1, keys of 0, so that a score is an element of the table.
#include <catch2/catch.hpp>

#include "reference/oracle.hpp"

using namespace assay;

namespace {

std::vector<double> rows_of(const std::vector<double>& table, core::attributes settings) {
  core::request call{reference::find_operation("shaw/scores"), core::dtype::f64, {}, std::move(settings)};
  call.inputs.emplace("q", core::make_tensor(call.type, {1, 1, 2, 1}, std::vector<double>{1, 1}));
  call.inputs.emplace("k", core::make_tensor(call.type, {1, 1, 4, 1}, std::vector<double>{0, 0, 0, 0}));
  call.inputs.emplace("table", core::make_tensor(call.type, {table.size(), 1}, table));
  const core::tensor s = reference::certify(call).at("s").rounded;
  return {s.values.begin(), s.values.end()};
}

}  // namespace

TEST_CASE("shaw/scores/by_hand", "[property]") {  // the last two of four tokens: rho from -2 to 1, and from -3 to 0
  CHECK(rows_of({10, 20, 30}, {}) == std::vector<double>{10, 10, 20, 30, 10, 10, 10, 20});
  CHECK(rows_of({10, 20, 30}, {{"sign", std::string("query_minus_key")}}) ==
        std::vector<double>{30, 30, 20, 10, 30, 30, 30, 20});
  CHECK(rows_of({10, 20, 30}, {{"right", std::int64_t{0}}}) == std::vector<double>{10, 20, 30, 30, 10, 10, 20, 30});
  CHECK(rows_of({10}, {}) == std::vector<double>(8, 10));
}
