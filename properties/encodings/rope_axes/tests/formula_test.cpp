// Rotations on several axes small enough to check by hand.
#include <catch2/catch.hpp>
#include <string>

#include "reference/oracle.hpp"

using namespace assay;

namespace {

constexpr double cos_1 = 0.54030230586813972, cos_2 = -0.4161468365471424, sin_2 = 0.90929742682568170,
                 cos_4 = -0.65364362086361191;

// The first coordinates of pairs with x = (1, 0), in halves: the cosines of their angles.
std::vector<double> cosines(std::size_t pairs, const std::vector<double>& position, core::attributes settings) {
  std::vector<double> x(2 * pairs, 0.0);
  std::fill_n(x.begin(), pairs, 1.0);
  settings["layout"] = std::string("half_split");
  core::request call{reference::find_operation("rope_axes/rotate"), core::dtype::f64, {}, std::move(settings)};
  call.inputs.emplace("x", core::make_tensor(core::dtype::f64, {1, 1, 1, 2 * pairs}, x));
  call.inputs.emplace("position", core::make_tensor(core::dtype::i64, {1, 1, position.size()}, position));
  const core::tensor y = reference::certify(call).at("y").rounded;
  return {y.values.begin(), y.values.begin() + static_cast<std::ptrdiff_t>(pairs)};
}
core::attributes with(const char* name, const char* value) { return {{name, std::string(value)}, {"base", 4.0}}; }
using all = std::vector<double>;

}  // namespace

TEST_CASE("rope_axes/formula/by_hand", "[property]") {
  // x at 4, y at 2. Each axis has two pairs with the frequencies 1 and 4^(-1/2): angles 4, 2 and 2, 1.
  CHECK(cosines(4, {4, 2}, with("order", "xy")) == all{cos_4, cos_2, cos_2, cos_1});
  CHECK(cosines(4, {4, 2}, with("order", "yx")) == all{cos_2, cos_1, cos_4, cos_2});
  CHECK(cosines(4, {4, 2}, with("assignment", "alternating")) == all{cos_4, cos_2, cos_2, cos_1});
  // Frequencies 4^(-t/4) over all pairs, of which the third is 1/2; by turns: 4^(0/4), 4^(-2/4) and 4^(-1/4), 4^(-3/4).
  CHECK(cosines(4, {4, 2}, with("exponent", "shared"))[2] == cos_1);
  CHECK(cosines(4, {4, 2}, with("exponent", "by_turns"))[1] == cos_2);
  // One pair, then two: angles 4 and 2, 1. Then three axes, of which the first has two pairs.
  const core::attributes one_and_two{{"section_0", std::int64_t{1}}, {"section_1", std::int64_t{2}}, {"base", 4.0}};
  CHECK(cosines(3, {4, 2}, one_and_two) == all{cos_4, cos_2, cos_1});
  const core::attributes of_three{{"assignment", std::string("alternating")},
                                  {"section_0", std::int64_t{2}},
                                  {"section_1", std::int64_t{1}},
                                  {"section_2", std::int64_t{1}},
                                  {"base", 16.0}};
  CHECK(cosines(4, {4, 2, 0}, of_three) == all{cos_4, cos_2, 1.0, cos_1});
  CHECK(cosines(3, {0, 0, 0}, {}) == all{1.0, 1.0, 1.0});

  // Each head has its own frequencies: the angles are 1 + 2 * 0.5 = 2 and 2 - 2 * 1 = 0.
  core::request mixed{reference::find_operation("rope_axes/rotate_by"), core::dtype::f64, {}, {}};
  mixed.inputs.emplace("x", core::make_tensor(core::dtype::f64, {1, 1, 2, 2}, {1, 0, 1, 0}));
  mixed.inputs.emplace("theta", core::make_tensor(core::dtype::f64, {2, 2, 1}, {1, 0.5, 2, -1}));
  mixed.inputs.emplace("position", core::make_tensor(core::dtype::f64, {1, 1, 2}, {1, 2}));
  const auto y = reference::certify(mixed).at("y").rounded.values;
  CHECK(all(y.begin(), y.end()) == all{cos_2, sin_2, 1.0, 0.0});
}

// Two axes of two pairs each, with halves of each axis: coordinates 0, 1 and 4, 5 are the first ones of pairs.
TEST_CASE("rope_axes/rotate/halves_of_each_axis", "[property]") {
  core::request call{reference::find_operation("rope_axes/rotate"), core::dtype::f64, {}};
  call.attributes = with("halves", "axis");
  call.attributes["layout"] = std::string("half_split");
  call.inputs.emplace("x", core::make_tensor(call.type, {1, 1, 1, 8}, {1, 1, 0, 0, 1, 1, 0, 0}));
  call.inputs.emplace("position", core::make_tensor(core::dtype::i64, {1, 1, 2}, {4, 2}));
  const auto turned = [&] {
    const core::tensor y = reference::certify(call).at("y").rounded;
    return all(y.values.begin(), y.values.end());
  };
  const all y = turned();
  CHECK(all{y[0], y[1], y[4], y[5]} == all{cos_4, cos_2, cos_2, cos_1});
  CHECK(y[3] == sin_2);
  CHECK(y[6] == sin_2);
  // With interleaved pairs there are no halves.
  call.attributes["layout"] = std::string("interleaved");
  const all beside = turned();
  call.attributes["halves"] = std::string("vector");
  CHECK(turned() == beside);
}

// The third axis has no pair, and the second one has every third pair: Qwen3-VL without time.
TEST_CASE("rope_axes/rotate/sections_of_which_the_last_is_0", "[property]") {
  core::attributes settings{{"assignment", std::string("alternating")},
                            {"section_0", std::int64_t{3}},
                            {"section_1", std::int64_t{1}},
                            {"exponent", std::string("shared")},
                            {"base", 1.0}};
  CHECK(cosines(4, {4, 2, 1}, settings) == all{cos_4, cos_2, cos_4, cos_4});
  settings["section_0"] = std::int64_t{2};
  settings["section_1"] = std::int64_t{2};
  settings["assignment"] = std::string("blocks");
  CHECK(cosines(4, {4, 2, 1}, settings) == all{cos_4, cos_4, cos_2, cos_2});
  settings["assignment"] = std::string("alternating");
  CHECK(cosines(4, {4, 2, 1}, settings) == all{cos_4, cos_2, cos_4, cos_2});
  settings["section_0"] = std::int64_t{4};
  settings["section_1"] = std::int64_t{2};
  settings["sections"] = std::int64_t{3};
  CHECK(cosines(6, {4, 2, 1}, settings) == all{cos_4, cos_2, cos_4, cos_4, cos_2, cos_4});
}

TEST_CASE("rope_axes/rotate/refusals_say_why", "[property][gate]") {
  const core::operation& op = *reference::find_operation("rope_axes/rotate");
  const auto why = [&](core::attributes settings, std::size_t d, std::size_t a) {
    return op.conflict(core::completed(op, settings), {{"B", 1}, {"n", 1}, {"h", 1}, {"d", d}, {"a", a}});
  };
  CHECK(why({}, 8, 3) == "a = 3 axes do not divide the 4 pairs of d = 8");
  CHECK(why({}, 12, 3).empty());
  CHECK(why({}, 12, 0) == "a = 0: there is no axis");
  core::attributes three{
      {"section_0", std::int64_t{2}}, {"section_1", std::int64_t{1}}, {"section_2", std::int64_t{1}}};
  CHECK(why(three, 8, 2) == "a = 2 axes are fewer than the 3 sections");
  CHECK(why({{"section_0", std::int64_t{2}}, {"sections", std::int64_t{3}}}, 8, 2) ==
        "a = 2 axes are fewer than the 3 sections");
  CHECK_THAT(why({{"halves", std::string("axis")}, {"assignment", std::string("alternating")}}, 8, 2),
             Catch::Contains("needs blocks"));
  CHECK(why(three, 6, 3) == "the sections' 4 pairs are more than d = 6 holds");
  three["assignment"] = std::string("alternating");
  CHECK(why(three, 8, 3).empty());
  three["section_2"] = std::int64_t{2};
  CHECK(why(three, 10, 3) == "section_2 = 2 pairs are more than every third of 5");
}
