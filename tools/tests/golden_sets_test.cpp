// The committed golden sets: what the recipes make, worth having, and small.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "golden/formats/file.hpp"
#include "golden/formats/temporary_folder.hpp"
#include "golden/index.hpp"
#include "reference/oracle.hpp"
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

}  // namespace

// Whatever somebody edits by hand, in a file, a manifest or the index, is not what the recipes make.
TEST_CASE("golden/sets/the_committed_sets_are_made_again_byte_by_byte", "[golden]") {
  const auto folder = formats::temporary_folder::make().value();
  std::uint64_t all_bytes = 0;
  golden::set_options options;
  options.reveal = tools::all_revealed();
  for (const std::string& encoding : reference::encoding_names()) {
    const fs::path set = committed / "sets" / encoding, again = folder.path() / encoding;
    const auto recipe = golden::read_recipe(committed / "recipes" / (encoding + ".json"));
    INFO((recipe ? "" : recipe.error().message));
    REQUIRE(recipe.has_value());
    const auto made = golden::make_set(*recipe, again, options);
    INFO((made ? "" : made.error().message));
    REQUIRE(made.has_value());
    std::size_t files = 0;
    for (const auto& entry : fs::directory_iterator(again)) {
      INFO(entry.path().filename());
      CHECK(bytes_of(entry.path()) == bytes_of(set / entry.path().filename()));
      ++files;
    }
    CHECK(files == made->files + 1);
    CHECK(static_cast<std::ptrdiff_t>(files) == std::distance(fs::directory_iterator(set), fs::directory_iterator()));
    all_bytes += made->bytes;
  }
  const auto index = golden::index_text(folder.path());
  REQUIRE(index.has_value());
  CHECK(*index == bytes_of(committed / "sets" / golden::index_name));
  CHECK(all_bytes + index->size() < 8'000'000);
  CHECK(golden::check_index(committed / "sets").empty());
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
      // Wrong only with a block size, or strides, that the operation does not declare, and a file cannot ask for.
      "mutant/one_tile_size_is_wrong", "mutant/strides_ignored",
      // Wrong only where a query has no key at all, for which 0 and NaN are both right.
      "mutant/attention_all_keys_where_none_is"};
  CHECK(missed == beyond_any_file);
}

TEST_CASE("golden/sets/no_answer_that_knows_nothing_passes_a_file", "[golden]") {
  // Where such an answer is the truth itself: no element is there, or the definition says so.
  const std::set<std::string> degenerate{"fox/decay-one-token",      // a token does not forget itself: D = 0
                                         "fox/decay-vjp-one-token",  // and no gate has a gradient
                                         "fox/gated-decay-one-token",
                                         "fox/gated-decay-vjp-one-token",
                                         "sinusoidal/table-width-1-zero",  // its one column is 0
                                         "sinusoidal/frequencies-one-pair",
                                         "rope/frequencies-vjp-one-pair"};  // 1 whatever the base
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
    // And by the wider allowance of arithmetic in the dtype only where the file says so.
    const bool says_wide =
        std::find(file.about.flags.begin(), file.about.flags.end(), "wide") != file.about.flags.end();
    CHECK(says_wide == tools::is_vacuous(file, file.about.type));
  }
  CHECK(found == degenerate);
}

// They are made on demand: here, that they can be.
TEST_CASE("golden/sets/the_recipes_of_long_sets_can_be_made", "[golden]") {
  for (const std::string& encoding : reference::encoding_names()) {
    const auto recipe = golden::read_recipe(committed / "recipes" / "full" / (encoding + ".json"));
    INFO((recipe ? "" : recipe.error().message));
    REQUIRE(recipe.has_value());
    REQUIRE_FALSE(recipe->entries.empty());
    for (const golden::recipe_entry& entry : recipe->entries) {
      REQUIRE_FALSE(entry.dtypes.empty());
      // What is hard to round is so in one dtype.
      const bool hard = entry.id.find("hard-to-round") != std::string::npos;
      INFO(encoding << " " << entry.id);
      CHECK(entry.dtypes.size() == (hard ? 1 : 4));
      for (const core::dtype type : entry.dtypes) {
        const auto inputs = golden::draw_inputs(entry, type);
        INFO((inputs ? "" : inputs.error().message));
        CHECK(inputs.has_value());
      }
    }
  }
}

TEST_CASE("golden/index/other_values_need_another_version") {
  const auto folder = formats::temporary_folder::make().value();
  const fs::path set = folder.path() / "alibi";
  const golden::recipe all = golden::read_recipe(committed / "recipes" / "alibi.json").value();
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
  CHECK(make().empty());  // who has pinned the version finds all that was there
  r.entries.pop_back();
  CHECK_THAT(make(), Catch::Matchers::Contains("raise \"version\""));
  r.entries[2].attributes["rule"] = std::string("official");
  CHECK_THAT(make(), Catch::Matchers::Contains("raise \"version\""));
  CHECK_THAT(golden::check_index(folder.path()).at(0).text, Catch::Matchers::Contains("edited by hand"));
  ++r.version;
  CHECK(make().empty());
}
