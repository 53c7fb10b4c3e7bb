// Recipes: drawn numbers are fixed, and a wrong recipe is refused with the place of the fault.
#include "golden/recipe.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "golden/formats/number_text.hpp"
#include "golden/formats/temporary_folder.hpp"
#include "golden/formats/tests/small_files.hpp"
#include "reference/oracle.hpp"

namespace {

using namespace assay;
using namespace assay::formats::testing;
using Catch::Matchers::Contains;
using nlohmann::json;

std::vector<double> drawn(const char* text, core::dtype type = core::dtype::f64, std::size_t n = 200) {
  const auto d = golden::parse_distribution(json::parse(text));
  INFO(text << (d ? "" : ": " + d.error().message));
  REQUIRE(d.has_value());
  const core::tensor_declaration declaration{"x", {"n", "d"}};
  const core::tensor t = golden::draw(*d, declaration, type, {{"n", n}, {"d", 2}}, 7);
  return {t.values.begin(), t.values.end()};
}

json valid_recipe() {
  return json::parse(R"({"schema": "assay-golden-recipe/1", "encoding": "heinsen",
    "default": {"normal": {"scale": 1, "shift": 0}},
    "entries": [{"id": "a", "reason": "because", "operation": "heinsen/scan:vjp", "dtypes": ["f32", "bf16"],
                 "axes": {"B": 1, "n": 2, "d": 1}, "seed": 3, "inputs": {"log_p": {"uniform": [-1, 0]}}}]})");
}

core::result<golden::recipe> read(const std::string& text) {
  const auto folder = formats::temporary_folder::make().value();
  spill(folder.path() / "recipe.json", text);
  return golden::read_recipe(folder.path() / "recipe.json");
}

// The error of a valid recipe after this change.
template <class Change>
std::string refusal(Change change) {
  json j = valid_recipe();
  change(j);
  const auto r = read(j.dump());
  INFO(j.dump());
  REQUIRE_FALSE(r.has_value());
  REQUIRE_THAT(r.error().message, Contains("recipe.json: "));
  return r.error().message;
}

std::string entry_refusal(const std::string& key, const json& value) {
  const std::string message = refusal([&](json& j) { j["entries"][0][key] = value; });
  REQUIRE_THAT(message, Contains("entry "));
  return message;
}

}  // namespace

TEST_CASE("golden/distribution/numbers_are_fixed") {
  // The bits are fixed, not only the numbers to a tolerance: every compiler and processor must draw these.
  CHECK(formats::number_text(drawn(R"({"uniform": [-2, 0]})")[0]) == "-0x1.e711db82cfd52p-1");
  CHECK(formats::number_text(drawn(R"({"normal": {"scale": 3, "shift": 1}})")[1]) == "0x1.a9756867c2b19p+2");
  CHECK(formats::number_text(drawn(R"({"binades": {"from": -3, "to": 3, "sign": "either"}})")[2]) ==
        "-0x1.660295fd0c2fap-1");
}

TEST_CASE("golden/distribution/every_kind") {
  std::set<double> whole;
  for (const double x : drawn(R"({"integers": [-2, 1]})")) whole.insert(x);
  CHECK(whole == std::set<double>{-2, -1, 0, 1});
  for (const double x : drawn(R"({"uniform": ["-0x1p1", -1]})")) CHECK((x >= -2 && x <= -1));
  CHECK(drawn(R"({"constant": "-inf"})")[5] == -inf);
  CHECK(std::isnan(drawn(R"({"constant": "nan"})")[5]));
  CHECK(drawn(R"({"values": [1, 2, 3]})")[4] == 2);
  for (const double x : drawn(R"({"choice": [1, "0x1p-3"]})")) CHECK((x == 1 || x == 0.125));
  for (const double x : drawn(R"({"powers": {"from": -2, "to": 1, "sign": "negative"}})"))
    CHECK((x == -0.25 || x == -0.5 || x == -1 || x == -2));
  for (const core::dtype type : core::floating_dtypes)
    for (const double x :
         drawn(R"({"binades": {"from": -6, "to": -1, "sign": "positive", "of": "smallest_normal"}})", type)) {
      CHECK((x > 0 && x <= core::smallest_normal(type)));
      CHECK(core::round_to(type, x) == x);
    }
  for (const core::dtype type : core::floating_dtypes)
    for (const double x :
         drawn(R"({"powers": {"from": 0, "to": 0, "sign": "either", "of": "smallest_subnormal"}})", type))
      CHECK(std::fabs(x) == core::smallest_subnormal(type));
}

TEST_CASE("golden/distribution/sprinkles_and_prefixes") {
  const auto x = drawn(R"({"constant": 1, "sprinkle": [{"value": 2, "one_in": 4}, {"value": "-inf", "one_in": 8}],
                           "prefix": {"axis": "n", "count": 3, "value": 5}})");
  for (std::size_t i = 0; i < 6; ++i) CHECK(x[i] == 5);
  const auto count = [&](double value) { return std::count(x.begin() + 6, x.end(), value); };
  CHECK(count(5) == 0);
  CHECK(count(1) + count(2) + count(-inf) == 394);
  CHECK((count(2) > 50 && count(2) < 130));
  CHECK((count(-inf) > 20 && count(-inf) < 90));
}

TEST_CASE("golden/distribution/refusals") {
  const auto refused = [](const char* text) {
    const auto d = golden::parse_distribution(json::parse(text));
    INFO(text);
    REQUIRE_FALSE(d.has_value());
    return d.error().message;
  };
  CHECK_THAT(refused("3"), Contains("must be an object"));
  CHECK_THAT(refused("{}"), Contains("uniform, integers, normal, constant"));
  CHECK_THAT(refused(R"({"gaussian": 1})"), Contains("one of the members"));
  CHECK_THAT(refused(R"({"constant": 1, "uniform": [0, 1]})"), Contains("unknown member"));
  CHECK_THAT(refused(R"({"constant": "0x1p"})"), Contains("no number"));
  CHECK_THAT(refused(R"({"constant": null})"), Contains("no number"));
  CHECK_THAT(refused(R"({"integers": [0, 2.5]})"), Contains("integers: must be two integers"));
  CHECK_THAT(refused(R"({"integers": [1, 0]})"), Contains("integers: must be two integers"));
  CHECK_THAT(refused(R"({"integers": [0, "0x1p54"]})"), Contains("integers: must be two integers"));
  CHECK_THAT(refused(R"({"uniform": [0]})"), Contains("uniform: must be two"));
  CHECK_THAT(refused(R"({"uniform": ["-inf", 0]})"), Contains("finite"));
  CHECK_THAT(refused(R"({"values": []})"), Contains("not empty"));
  CHECK_THAT(refused(R"({"normal": {"scale": 1}})"), Contains("'shift' is missing"));
  CHECK_THAT(refused(R"({"powers": {"from": 1, "to": 0, "sign": "either"}})"), Contains("in this order"));
  CHECK_THAT(refused(R"({"powers": {"from": 0.5, "to": 1, "sign": "either"}})"), Contains("integers"));
  CHECK_THAT(refused(R"({"powers": {"from": 0, "to": 9223372036854775807, "sign": "either"}})"), Contains("integers"));
  CHECK_THAT(refused(R"({"powers": {"from": 0, "to": 18446744073709551615, "sign": "either"}})"), Contains("integers"));
  CHECK_THAT(refused(R"({"powers": {"from": 0, "to": 1, "sign": "none"}})"), Contains("sign must be"));
  CHECK_THAT(refused(R"({"powers": {"from": 0, "to": 1, "sign": "either", "of": "two"}})"), Contains("of must be"));
  CHECK_THAT(refused(R"({"constant": 1, "sprinkle": {"value": 1, "one_in": 0}})"), Contains("sprinkle: one_in"));
  CHECK_THAT(refused(R"({"constant": 1, "prefix": {"value": 1, "count": -1, "axis": "n"}})"), Contains("prefix: "));
}

TEST_CASE("golden/recipe/reads_what_is_there") {
  const auto r = read(valid_recipe().dump());
  REQUIRE(r.has_value());
  CHECK(r->encoding == "heinsen");
  CHECK(r->sha256.size() == 64);
  CHECK(r->version == 1);
  const golden::recipe_entry& entry = r->entries.at(0);
  CHECK(entry.operation == reference::find_operation("heinsen/scan:vjp"));
  // Cotangents, and all other inputs that are left out, have the default distribution, and their own random stream.
  const core::tensors inputs = golden::draw_inputs(entry, core::dtype::f32).value();
  CHECK(inputs.size() == entry.operation->inputs.size());
  CHECK_FALSE(core::identical(inputs.at("grad_s"), inputs.at("h")));
  // The dtype rounds the drawn numbers and changes nothing else.
  const core::tensors narrow = golden::draw_inputs(entry, core::dtype::bf16).value();
  CHECK(core::identical(core::cast(core::dtype::bf16, inputs.at("h")), narrow.at("h")));
}

TEST_CASE("golden/recipe/the_hash_of_an_entry_changes_with_what_is_said_of_it_alone") {
  json j = valid_recipe();
  const std::string before = read(j.dump()).value().entries.at(0).sha256;
  j["version"] = 7;
  j["entries"].push_back(j["entries"][0]);
  j["entries"][1]["id"] = "b";
  CHECK(read(j.dump()).value().entries.at(0).sha256 == before);
  CHECK(read(j.dump()).value().entries.at(1).sha256 != before);
  CHECK(read(j.dump()).value().version == 7);
  j["default"] = {{"constant", 1}};
  CHECK(read(j.dump()).value().entries.at(0).sha256 != before);
}

TEST_CASE("golden/recipe/nan_and_plus_infinity_are_inputs_of_functions_alone") {
  json j = valid_recipe();
  j["entries"][0]["inputs"]["h"] = {{"values", {"nan", "inf"}}};
  CHECK_THAT(golden::draw_inputs(read(j.dump()).value().entries.at(0), core::dtype::f32).error().message,
             Contains("'h' at index [0, 0, 0]"));
  j["entries"][0]["operation"] = "heinsen/scan";
  CHECK(golden::draw_inputs(read(j.dump()).value().entries.at(0), core::dtype::f32).has_value());
  j["entries"][0]["inputs"]["log_p"] = {{"constant", 1}};
  CHECK_THAT(golden::draw_inputs(read(j.dump()).value().entries.at(0), core::dtype::f32).error().message,
             Contains("'log_p' at index [0, 0, 0]"));
}

TEST_CASE("golden/recipe/refusals_name_entry_and_member") {
  CHECK_THAT(read("[]").error().message, Contains("must begin with '{'"));
  CHECK_THAT(refusal([](json& j) { j["schema"] = "assay-golden-recipe/2"; }), Contains("assay-golden-recipe/2"));
  CHECK_THAT(refusal([](json& j) { j["encoding"] = "none"; }), Contains("unknown encoding 'none'"));
  CHECK_THAT(refusal([](json& j) { j.erase("default"); }), Contains("'default' is missing"));
  CHECK_THAT(refusal([](json& j) { j["more"] = 1; }), Contains("unknown member 'more'"));
  CHECK_THAT(refusal([](json& j) { j["entries"] = json::array(); }), Contains("not empty"));
  CHECK_THAT(refusal([](json& j) { j["entries"].push_back(j["entries"][0]); }), Contains("'a': the id is there twice"));
  CHECK_THAT(refusal([](json& j) { j["entries"][0] = 7; }), Contains("entry 0: must be an object"));
  CHECK_THAT(refusal([](json& j) { j["default"] = 7; }), Contains("entry 'a': inputs: h: "));
  for (const char* id : {"", "A", "../a", "a.b", "a/b"}) CHECK_THAT(entry_refusal("id", id), Contains("'id'"));
  CHECK_THAT(entry_refusal("id", 3), Contains("entry 0: member 'id'"));
  CHECK_THAT(entry_refusal("reason", ""), Contains("entry 'a': member 'reason'"));
  CHECK_THAT(entry_refusal("operation", "heinsen/none"), Contains("'heinsen/none' is no operation of heinsen"));
  CHECK_THAT(entry_refusal("dtypes", json::array()), Contains("dtypes: "));
  CHECK_THAT(entry_refusal("dtypes", {"f32", "f32"}), Contains("twice"));
  CHECK_THAT(entry_refusal("dtypes", {"i64"}), Contains("no floating-point dtype"));
  CHECK_THAT(entry_refusal("axes", {{"B", 1}, {"n", 2}}), Contains("axes: the size of axis 'd' is missing"));
  CHECK_THAT(entry_refusal("axes", {{"B", 1}, {"n", 2}, {"d", 1}, {"e", 1}}), Contains("no axis 'e'"));
  CHECK_THAT(entry_refusal("axes", {{"B", 1}, {"n", -2}, {"d", 1}}), Contains("'n' must be an integer"));
  CHECK_THAT(entry_refusal("axes", {{"B", 0}, {"n", 1 << 26}, {"d", 2}}), Contains("too large"));
  CHECK_THAT(refusal([](json& j) {
               j["encoding"] = "t5_bias";
               j["entries"][0]["operation"] = "t5_bias/bucket";
               j["entries"][0]["axes"] = {{"n", 2}};
               j["entries"][0]["attributes"] = {{"buckets", 2}};  // one bucket for each direction, and none for one
                                                                  // distance
             }),
             Contains("entry 'a': attributes: "));
  CHECK_THAT(entry_refusal("seed", -1), Contains("'seed'"));
  CHECK_THAT(entry_refusal("inputs", {{"q", {{"constant", 1}}}}), Contains("no input 'q'"));
  CHECK_THAT(
      entry_refusal("inputs", {{"h", {{"constant", 1}, {"prefix", {{"axis", "e"}, {"count", 1}, {"value", 0}}}}}}),
      Contains("h: prefix: there is no axis 'e'"));
}
