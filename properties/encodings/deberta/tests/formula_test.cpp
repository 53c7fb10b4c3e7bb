// Buckets compared with those of the published program, and scores small enough to check by hand.
#include <catch2/catch.hpp>

#include "properties/kinds/table.hpp"
#include "reference/oracle.hpp"

using namespace assay;

TEST_CASE("deberta/bucket/published", "[property]") {
  const auto bucket = [](std::vector<double> r, std::int64_t buckets, std::int64_t largest, bool clamp = true) {
    return properties::table_by_hand("deberta/bucket", {{"distance", std::move(r)}},
                                     {{"buckets", buckets}, {"max_distance", largest}, {"clamp_first", clamp}});
  };
  CHECK(bucket({128, 129, 130, 131, 255, 506, 511, 600, -600}, 256, 512) ==
        std::vector<double>{128, 129, 130, 131, 192, 255, 255, 255, -255});
  CHECK(bucket({512, 600, 1000}, 256, 512, false) == std::vector<double>{256, 270, 317});
  CHECK(bucket({799}, 320, 800) == std::vector<double>{319});
  CHECK(bucket({0, 2, 3, -3, 4}, 4, 800) == std::vector<double>{0, 2, 3, -3, 3});
}

TEST_CASE("deberta/scores/by_hand", "[property]") {
  // With span 1, keys behind the query use row 0, others row 1. The factor is 1 / sqrt(2 * 2) for two terms of width 2.
  core::request call{reference::find_operation("deberta/scores"), core::dtype::f64, {}};
  call.attributes = {{"span", std::int64_t{1}}, {"form", std::string("linear")}, {"terms", std::string("p2c")}};
  const auto put = [&](const char* name, core::shape shape, std::vector<double> first) {
    std::vector<double> x;
    for (const double y : first) x.insert(x.end(), {y, 0});
    call.inputs.emplace(name, core::make_tensor(call.type, std::move(shape), x));
  };
  put("q", {1, 1, 2, 2}, {1, 2});
  put("k", {1, 1, 2, 2}, {4, 8});
  put("position_keys", {1, 2, 2}, {0, 0});
  put("position_queries", {1, 2, 2}, {16, 32});
  const auto scores = [&] {
    const core::tensor s = reference::certify(call).at("s").rounded;
    return std::vector<double>{s.values.begin(), s.values.end()};
  };
  const auto halves = [](std::vector<double> x) {
    for (double& y : x) y /= 2;
    return x;
  };
  CHECK(scores() == halves({4 + 4 * 32, 8 + 8 * 16, 8 + 4 * 32, 16 + 8 * 32}));
  call.attributes["p2c_index"] = std::string("paper");
  CHECK(scores() == halves({4 + 4 * 32, 8 + 8 * 32, 8 + 4 * 16, 16 + 8 * 32}));
}

// Distances up to 5 where buckets end at M = 5: r = -5 has row 1 if it is clamped to 4 first, and row 0 otherwise.
TEST_CASE("deberta/scores/without_the_clamp_the_farthest_keys_have_row_0", "[property]") {
  core::request call{reference::find_operation("deberta/scores"), core::dtype::f64, {}};
  call.attributes = {{"span", std::int64_t{4}}, {"max_distance", std::int64_t{5}}, {"terms", std::string("c2p")}};
  call.inputs.emplace("q", core::make_tensor(call.type, {1, 1, 6, 2}, std::vector<double>(12, 1.0)));
  call.inputs.emplace("k", core::zeros(call.type, {1, 1, 6, 2}));
  std::vector<double> rows(16, 0.0);
  for (std::size_t row = 0; row < 8; ++row) rows[2 * row] = 10.0 + 2.0 * static_cast<double>(row);
  call.inputs.emplace("position_keys", core::make_tensor(call.type, {1, 8, 2}, rows));
  call.inputs.emplace("position_queries", core::zeros(call.type, {1, 8, 2}));
  const auto scores_of_first = [&](bool clamps) {
    call.attributes["clamp_first"] = clamps;
    const core::tensor s = reference::certify(call).at("s").rounded;
    return std::vector<double>{s.values.begin(), s.values.begin() + 6};
  };
  CHECK(scores_of_first(true) == std::vector<double>{9, 8, 7, 6, 6, 6});
  CHECK(scores_of_first(false) == std::vector<double>{9, 8, 7, 6, 6, 5});
}
