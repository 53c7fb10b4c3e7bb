// The committed golden sets: they are what the recipes make, useful, and small.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "golden/formats/file.hpp"
#include "golden/formats/temporary_folder.hpp"
#include "golden/index.hpp"
#include "reference/oracle.hpp"
#include "tools/golden/families.hpp"
#include "tools/golden/reveal.hpp"

namespace {

using namespace assay;
namespace fs = std::filesystem;

const fs::path committed = fs::path(ASSAY_SOURCE_DIR) / "golden";

std::string bytes_of(const fs::path& path) {
  const auto bytes = formats::read_file(path, golden::set_limits.file_bytes);
  INFO((bytes ? "" : bytes.error().message));
  REQUIRE(bytes.has_value());
  return *bytes;
}

std::vector<golden::golden_file> all_files() {
  std::vector<golden::golden_file> all;
  for (const std::string& encoding : reference::encoding_names()) {
    const golden::manifest m = golden::read_manifest(committed / "sets" / encoding).value();
    for (const golden::listed_file& f : m.files)
      all.push_back(golden::read_golden_file(committed / "sets" / encoding / f.file.name()).value());
  }
  return all;
}

golden::recipe recipe_in(const fs::path& folder, const std::string& encoding) {
  const auto r = golden::read_recipe(folder / (encoding + ".json"), tools::all_families());
  INFO((r ? "" : r.error().message));
  REQUIRE(r.has_value());
  return *r;
}
golden::recipe recipe_of(const std::string& encoding) { return recipe_in(committed / "recipes", encoding); }

}  // namespace

TEST_CASE("golden/sets/recipes_cover_every_operation_and_dtype") {
  for (const std::string& encoding : reference::encoding_names()) {
    std::set<std::pair<std::string, core::dtype>> covered;
    for (const auto& entry : recipe_of(encoding).entries)
      for (const core::dtype type : entry.dtypes) covered.emplace(entry.operation->name, type);
    for (const core::operation& op : reference::operations())
      if (op.name.starts_with(encoding + "/"))
        for (const core::dtype type : core::floating_dtypes) {
          INFO(op.name << " in " << core::name_of(type));
          CHECK(covered.contains({op.name, type}));
        }
  }
}

TEST_CASE("golden/sets/recipes_use_every_value_of_every_setting") {
  for (const std::string& encoding : reference::encoding_names()) {
    const golden::recipe r = recipe_of(encoding);
    for (const core::operation& op : reference::operations())
      for (const core::attribute_declaration& setting : op.attributes)
        for (const core::attribute& value : setting.values) {
          if (!op.name.starts_with(encoding + "/")) continue;
          INFO(op.name << ": " << setting.name << " = " << core::to_string(value));
          CHECK(std::any_of(r.entries.begin(), r.entries.end(), [&](const auto& e) {
            return e.operation == &op && core::completed(op, e.attributes).at(setting.name) == value;
          }));
        }
  }
}

TEST_CASE("golden/sets/recipes_reach_special_values_blocks_and_long_sequences") {
  std::set<std::string> with_nan, with_plus_infinity;
  std::set<std::pair<std::string, std::size_t>> tokens;
  for (const std::string& encoding : reference::encoding_names())
    for (const auto& entry : recipe_of(encoding).entries) {
      if (const auto n = entry.axes.find("n"); n != entry.axes.end()) tokens.emplace(entry.operation->name, n->second);
      if (!entry.operation->is_forward()) continue;
      const core::tensors inputs = golden::draw_inputs(entry, entry.dtypes.front()).value();
      for (const auto& [name, t] : inputs)
        for (const double x : t.values) {
          if (std::isnan(x)) with_nan.insert(entry.operation->name);
          if (std::isinf(x) && x > 0) with_plus_infinity.insert(entry.operation->name);
        }
    }
  // All functions of tensors other than integers, except frequencies, whose bases are positive numbers, and signed
  // logarithms: the sign of NaN is a matter of convention.
  for (const core::operation& op : reference::operations())
    if (op.is_forward() && std::any_of(op.inputs.begin(), op.inputs.end(), [](const auto& d) { return !d.own_type; }) &&
        op.name != "sinusoidal/decay" && !op.input("sign_a") && !(op.inputs.size() == 1 && op.input("base"))) {
      INFO(op.name);
      CHECK(with_nan.contains(op.name));
    }
  for (const char* op : {"heinsen/scan", "heinsen/gated_scan", "fox/gated_decay", "sinusoidal/table_at"})
    CHECK(with_plus_infinity.contains(op));
  for (const std::size_t n :
       {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 513, 1025, 1100})
    CHECK(tokens.contains({"heinsen/scan", n}));
  for (const char* op : {"heinsen/scan:vjp", "heinsen/scan:jvp", "heinsen/gated_scan", "heinsen/gated_scan:vjp"})
    CHECK(tokens.contains({op, 1100}));
}

// A manual change in the index makes it differ from the index that the sets give. Other tests, one for each encoding,
// check that the recipes make the sets.
TEST_CASE("golden/sets/the_index_is_that_of_the_sets", "[golden]") {
  const auto index = golden::index_text(committed / "sets");
  REQUIRE(index.has_value());
  CHECK(*index == bytes_of(committed / "sets" / golden::index_name));
  CHECK(golden::check_index(committed / "sets").empty());
  std::uintmax_t all_bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(committed / "sets"))
    if (entry.is_regular_file()) all_bytes += entry.file_size();
  CHECK(all_bytes < 1'000'000 * reference::encoding_names().size());
}

TEST_CASE("golden/sets/every_mutant_is_revealed", "[golden]") {
  std::set<std::string> revealed, missed;
  for (const golden::golden_file& file : all_files())
    revealed.insert(file.about.reveals.begin(), file.about.reveals.end());
  for (const properties::encoding_tests& tests : properties::all_encoding_tests())
    for (const properties::variant& m : tests.mutants)
      // Some are wrong only in a later call: a file is one call.
      if (!m.remembers && !revealed.contains(m.id)) missed.insert(m.id);
  const std::set<std::string> beyond_any_file{
      // Wrong only with a block size, or strides, that the operation does not declare: a file cannot ask for them.
      "mutant/one_tile_size_is_wrong", "mutant/strides_ignored",
      // Wrong only if a query has no key at all: then 0 and NaN are both right.
      "mutant/attention_all_keys_where_none_is", "mutant/fox_padding_averaged"};
  CHECK(missed == beyond_any_file);
}

TEST_CASE("golden/sets/no_answer_that_knows_nothing_passes_a_file", "[golden]") {
  // Files for which such an answer is the truth itself: there is no element, or the definition gives it.
  const std::set<std::string> degenerate{"fox/decay-one-token",      // a token does not forget itself: D = 0
                                         "fox/decay-vjp-one-token",  // and no gate has a gradient
                                         "fox/gated-decay-one-token", "fox/gated-decay-vjp-one-token",
                                         "sinusoidal/table-width-1-zero",  // its one column is 0
                                         "sinusoidal/frequencies-one-pair",
                                         "rope/frequencies-vjp-one-pair",  // 1 for every base
                                         "contextual/rotation-no-turn",    // y is x
                                         // A sink takes all the weight; with one key alone grad_v is grad_o.
                                         "attention/sinks-vjp-loud", "attention/grouped-query-vjp-one-key"};
  std::set<std::string> found;
  for (const golden::golden_file& file : all_files()) {
    INFO(file.about.set << "/" << file.about.name());
    for (const tools::passing_answer& p : tools::passed_by(file, golden::arithmetics_of(file.about.type).back())) {
      INFO(p.what);
      CHECK(p.is_right);
      const auto& flags = file.about.flags;
      if (std::find(flags.begin(), flags.end(), "empty") == flags.end())
        found.insert(file.about.set + "/" + file.about.id);
    }
    // With the wider allowance of arithmetic in the dtype, only if the file is flagged as wide.
    const bool says_wide =
        std::find(file.about.flags.begin(), file.about.flags.end(), "wide") != file.about.flags.end();
    CHECK(says_wide == tools::is_vacuous(file, file.about.type));
  }
  CHECK(found == degenerate);
}

// These sets are made on demand: this tests that they can be made. An encoding may have none.
TEST_CASE("golden/sets/the_recipes_of_long_sets_can_be_made", "[golden]") {
  for (const auto& file : fs::directory_iterator(committed / "recipes" / "full")) {
    const auto recipe = golden::read_recipe(file.path());
    INFO((recipe ? "" : recipe.error().message));
    REQUIRE(recipe.has_value());
    REQUIRE_FALSE(recipe->entries.empty());
    for (const golden::recipe_entry& entry : recipe->entries) {
      REQUIRE_FALSE(entry.dtypes.empty());
      // A hard-to-round case is hard in one dtype only.
      const bool hard = entry.id.find("hard-to-round") != std::string::npos;
      INFO(file.path().stem() << " " << entry.id);
      CHECK(entry.dtypes.size() == (hard ? 1 : 4));
      for (const core::dtype type : entry.dtypes) {
        const auto inputs = golden::draw_inputs(entry, type);
        INFO((inputs ? "" : inputs.error().message));
        CHECK(inputs.has_value());
      }
    }
  }
}

// One line of a recipe gives every operation, dtype and value of a setting, and a set that proves itself.
TEST_CASE("golden/sets/a_line_of_families_makes_a_set") {
  const auto folder = formats::temporary_folder::make().value();
  const auto recipe_with = [&](const std::string& line) {
    const std::string text = R"({"schema": "assay-golden-recipe/1", "encoding": "alibi", "default": {"constant": 1},
      "entries": [)" + line + "]}";
    REQUIRE(formats::replace_file(folder.path() / "alibi.json", text).has_value());
    return golden::read_recipe(folder.path() / "alibi.json", tools::all_families());
  };
  const golden::recipe r = recipe_with(
                               R"({"family": ["mild", "nan_inside"], "seed": 5,
          "axes": {"B": 1, "h": 2, "n": 2, "m": 3, "d": 2, "e": 2}},
         {"id": "steep", "family": "mild", "operation": "alibi/bias", "axes": {"h": 2, "n": 1, "m": 2}, "seed": 6,
          "inputs": {"slopes": {"constant": 64}}, "dtypes": ["f32"]})")
                               .value();
  std::set<std::tuple<std::string, core::dtype, std::string>> seen;
  std::set<std::string> ids;
  for (const golden::recipe_entry& e : r.entries) {
    ids.insert(e.id);
    for (const core::dtype type : e.dtypes)
      for (const auto& [name, value] : core::completed(*e.operation, e.attributes))
        seen.emplace(e.operation->name, type, name + " " + core::to_string(value));
  }
  for (const core::operation& op : reference::operations())
    for (const core::attribute_declaration& a : op.attributes)
      for (const core::attribute& value : a.values)
        for (const core::dtype type : core::floating_dtypes)
          if (op.name.starts_with("alibi/")) {
            INFO(op.name << " " << a.name << " " << core::to_string(value));
            CHECK(seen.contains({op.name, type, a.name + " " + core::to_string(value)}));
          }
  CHECK(ids.contains("bias-vjp-mild-form-absolute"));
  CHECK(ids.contains("bias-nan-inside"));
  CHECK_FALSE(ids.contains("bias-vjp-nan-inside"));  // no gradient is tested at NaN
  CHECK_FALSE(ids.contains("slopes-nan-inside"));    // it has no inputs, so one family is enough
  CHECK(r.entries.back().reason == "slopes from 2^-8 to 1, the last queries of a sequence");
  const core::tensors steep = golden::draw_inputs(r.entries.back(), core::dtype::f32).value();
  for (const double slope : steep.at("slopes").values) CHECK(slope == 64);
  CHECK(steep.at("key_position").size() == 2);
  REQUIRE(golden::make_set(r, folder.path() / "set").has_value());
  CHECK(golden::check_set(folder.path() / "set", {}, &r).problems.empty());
  const auto refused = [&](const std::string& line) { return recipe_with(line).error().message; };
  using Catch::Matchers::Contains;
  CHECK_THAT(refused(R"({"family": "milld", "axes": {}, "seed": 1})"),
             Contains("no operation of alibi has the family 'milld'"));
  CHECK_THAT(refused(R"({"family": "nan_inside", "operation": "alibi/bias:vjp", "axes": {}, "seed": 1})"),
             Contains("\"alibi/bias:vjp\" has not the family 'nan_inside'"));
  CHECK_THAT(refused(R"({"family": "mild", "axes": {"h": 1, "n": 1, "m": 1, "q": 1}, "seed": 1})"),
             Contains("axis 'q'"));
  CHECK_THAT(refused(R"({"family": "mild", "axes": {"h": 1, "n": 1}, "seed": 1})"), Contains("'m' is missing"));
  CHECK_THAT(refused(R"({"family": [3], "axes": {}, "seed": 1})"), Contains("a list of names"));
  CHECK_THAT(refused(R"({"family": "mild", "axes": {}})"), Contains("'seed' is missing"));
}

TEST_CASE("golden/index/other_values_need_another_version") {
  const auto folder = formats::temporary_folder::make().value();
  const fs::path set = folder.path() / "alibi";
  const golden::recipe all = recipe_of("alibi");
  golden::recipe r = all;
  r.entries.resize(3);
  const auto make = [&] {
    fs::remove_all(set);
    REQUIRE(golden::make_set(r, set).has_value());
    const auto written = golden::write_index(folder.path());
    return written ? std::string() : written.error().message;
  };
  CHECK(make().empty());
  CHECK(golden::check_index(folder.path()).empty());
  r.entries[0].reason = "another, for the same values";
  CHECK(make().empty());
  r.entries.push_back(all.entries[3]);
  CHECK(make().empty());  // a pinned version still finds everything that existed then
  r.entries.pop_back();
  CHECK_THAT(make(), Catch::Matchers::Contains("raise \"version\""));
  r.entries[2].attributes["rule"] = std::string("official");
  CHECK_THAT(make(), Catch::Matchers::Contains("raise \"version\""));
  CHECK_THAT(golden::check_index(folder.path()).at(0).text, Catch::Matchers::Contains("edited by hand"));
  ++r.version;
  CHECK(make().empty());
}
