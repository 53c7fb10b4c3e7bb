// Ids and sums small enough to compute by hand.
#include <catch2/catch.hpp>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

namespace {

std::vector<double> ids(std::vector<double> mask, core::attributes settings) {
  const std::size_t n = mask.size();
  const auto all = reference::certify({reference::find_operation("learned/positions"),
                                       dtype::f64,
                                       {{"mask", make_tensor(dtype::i64, {1, n}, std::move(mask))}},
                                       std::move(settings)});
  const auto& values = all.at("position").rounded.values;
  return {values.begin(), values.end()};
}
core::request embedded(const char* operation, std::vector<double> position) {
  return {reference::find_operation(operation),
          dtype::f64,
          {{"x", make_tensor(dtype::f64, {1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})},
           {"table", make_tensor(dtype::f64, {2, 4}, {10, 20, 30, 40, -1, -2, -3, -4})},
           {"position", make_tensor(dtype::i64, {1, 2}, position)}}};
}

}  // namespace

TEST_CASE("learned/positions/by_hand", "[property]") {
  using list = std::vector<double>;
  const list mask{0, 1, 1, 0, 1};
  CHECK(ids(mask, {}) == list{1, 2, 3, 1, 4});  // fairseq and RoBERTa with padding_idx = 1, and OPT
  CHECK(ids(mask, {{"past", std::int64_t{10}}}) == list{1, 12, 13, 1, 14});
  CHECK(ids(mask, {{"offset", std::int64_t{0}}, {"masked", std::string("one")}}) == list{1, 0, 1, 1, 2});  // GPT-2
  CHECK(ids(mask, {{"offset", std::int64_t{0}}, {"masked", std::string("zero")}}) == list{0, 0, 1, 0, 2});
  CHECK(ids(mask, {{"offset", std::int64_t{0}}}) == list{-1, 0, 1, -1, 2});
  CHECK(ids(mask, {{"rule", std::string("as_they_lie")}, {"past", std::int64_t{3}}}) == list{5, 6, 7, 8, 9});
}

TEST_CASE("learned/embed/by_hand", "[property]") {
  core::request call = embedded("learned/embed", {1, 0});
  const auto sum = reference::certify(call).at("y").rounded.values;
  CHECK((sum(0, 0, 0) == 0.0 && sum(0, 0, 3) == 0.0));  // in row 1
  CHECK((sum(0, 1, 0) == 15.0 && sum(0, 1, 3) == 48.0));
  call.attributes = {{"input_factor", std::string("sqrt")}};
  CHECK(reference::certify(call).at("y").rounded.values(0, 1, 3) == 56.0);  // 2 * 8 + 40
  CHECK(reference::certify(embedded("learned/multiply", {1, 0})).at("y").rounded.values(0, 0, 2) == -9.0);
}

// ConvS2S adds rows unchanged, and its padding has a row of zeros.
TEST_CASE("learned/embed/a_row_of_zeros_adds_nothing", "[property]") {
  core::request call = embedded("learned/embed", {1, 0});
  for (std::size_t c = 0; c < 4; ++c) call.inputs.at("table").values(1, c) = 0.0;
  const auto sum = [&] { return reference::certify(call).at("y").rounded.values; };
  for (std::size_t c = 0; c < 4; ++c) {
    CHECK(sum()(0, 0, c) == call.inputs.at("x").values(0, 0, c));
    CHECK(sum()(0, 1, c) != call.inputs.at("x").values(0, 1, c));
  }
  call.attributes = {{"input_factor", std::string("sqrt")}};
  CHECK(sum()(0, 0, 0) == 2.0);
}

TEST_CASE("learned/embed/refuses_what_is_not_in_the_table", "[property]") {
  for (const double beyond : {2.0, -1.0}) {
    const auto checked = core::check_request(embedded("learned/embed", {0, beyond}));
    REQUIRE(!checked);
    CHECK(checked.error().message == "learned/embed: input 'position' holds " +
                                         std::to_string(static_cast<int>(beyond)) +
                                         ", which must be at least 0 and below N = 2");
  }
}
