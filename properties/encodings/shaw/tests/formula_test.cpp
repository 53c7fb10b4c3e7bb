// Scores small enough to check by hand: with queries of 1 and keys of 0 a score is an element of the table.
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

TEST_CASE("shaw/scores/by_hand", "[property]") {  // the last two of four tokens: rho is from -2 to 1, and from -3 to 0
  CHECK(rows_of({10, 20, 30}, {}) == std::vector<double>{10, 10, 20, 30, 10, 10, 10, 20});
  CHECK(rows_of({10, 20, 30}, {{"sign", std::string("query_minus_key")}}) ==
        std::vector<double>{30, 30, 20, 10, 30, 30, 30, 20});
  CHECK(rows_of({10, 20, 30}, {{"right", std::int64_t{0}}}) == std::vector<double>{10, 20, 30, 30, 10, 10, 20, 30});
  CHECK(rows_of({10}, {}) == std::vector<double>(8, 10));
}

// Two tokens, all keys 0, and tables of one feature: the table of keys decides the weights.
TEST_CASE("shaw/attention/by_hand", "[property]") {
  const auto outputs = [](const std::vector<double>& table_k, const std::vector<double>& table_v,
                          core::attributes settings) {
    core::request call{reference::find_operation("shaw/attention"), core::dtype::f64, {}, std::move(settings)};
    call.inputs.emplace("q", core::make_tensor(call.type, {1, 1, 2, 1}, std::vector<double>{1, 1}));
    call.inputs.emplace("k", core::make_tensor(call.type, {1, 1, 2, 1}, std::vector<double>{0, 0}));
    call.inputs.emplace("v", core::make_tensor(call.type, {1, 1, 2, 1}, std::vector<double>{8, 16}));
    call.inputs.emplace("table_k", core::make_tensor(call.type, {table_k.size(), 1}, table_k));
    call.inputs.emplace("table_v", core::make_tensor(call.type, {table_v.size(), 1}, table_v));
    const core::tensor o = reference::certify(call).at("o").rounded;
    return std::vector<double>{o.values.begin(), o.values.end()};
  };
  // Equal logits: the means of (8, 16) and of (0, 1), and then of (-1, 0).
  CHECK(outputs({5, 5, 5}, {-1, 0, 1}, {}) == std::vector<double>{12.5, 11.5});
  CHECK(outputs({5, 5, 5}, {-1, 0, 1}, {{"where", std::string("keys")}}) == std::vector<double>{12, 12});
  CHECK(outputs({5, 5, 5}, {-1, 0, 1}, {{"causal", true}}) == std::vector<double>{8, 11.5});
  CHECK(outputs({0, 0, 2000}, {-1, 0, 1}, {}) == std::vector<double>{17, 11.5});
}
