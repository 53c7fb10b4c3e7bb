// The committed golden set of each encoding: its recipe makes it again, and the implementations that ship with Assay
// agree with it as expected: right ones stay inside the allowances, wrong ones do not.
#include "golden/golden_set.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "golden/compare_set.hpp"
#include "golden/formats/file.hpp"
#include "golden/formats/temporary_folder.hpp"
#include "properties/builtin.hpp"
#include "properties/harness/catalogue.hpp"
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

// A manual change in a file or a manifest differs from what the recipe makes.
void check_that_it_is_made_again(const std::string& encoding) {
  const auto folder = formats::temporary_folder::make().value();
  const fs::path set = committed / "sets" / encoding, again = folder.path() / encoding;
  const auto recipe = golden::read_recipe(committed / "recipes" / (encoding + ".json"), tools::all_families());
  INFO((recipe ? "" : recipe.error().message));
  REQUIRE(recipe.has_value());
  golden::set_options options;
  options.reveal = tools::all_revealed();
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
}

struct tally {
  std::size_t files = 0, wrong = 0;
  std::string first;  ///< the first wrong element
};

// All files of the committed set that the implementation offers, once, except those with a flag.
tally against_golden(const std::string& encoding, const std::string& builtin, golden::question kind,
                     const char* but_for = "") {
  const fs::path set = committed / "sets" / encoding;
  const auto under_test = properties::make_builtin(builtin).value();
  tally t;
  const golden::manifest m = golden::read_manifest(set).value();
  for (const golden::listed_file& listed : m.files) {
    const golden::set_file& f = listed.file;
    if (!under_test->describe().offers(f.operation->name, f.type)) continue;
    if (std::find(f.flags.begin(), f.flags.end(), but_for) != f.flags.end()) continue;
    const golden::golden_file file = golden::read_golden_file(set / f.name()).value();
    const auto outputs = under_test->evaluate(file.call);
    if (!outputs) continue;
    ++t.files;
    const core::dtype arithmetic = tools::arithmetic_for(*under_test, file.call);
    for (const auto& [name, x] : *outputs) {
      const golden::comparison c = golden::compare_output(file, name, x, kind, arithmetic);
      if (c.wrong > 0 && t.wrong == 0)
        t.first = f.name() + ": " + name + core::index_text(x.shape(), c.first_wrong) + " is " +
                  std::to_string(x.values.storage()[c.first_wrong]) + " instead of " +
                  std::to_string(file.tensors.at(name).values.storage()[c.first_wrong]);
      t.wrong += c.wrong;
    }
  }
  return t;
}

void check_right_ones(const std::string& encoding) {
  for (const std::string name : {"reference", "sequential", "optimized", "tree", "linear"}) {
    // A running shift of +inf gives NaN.
    const tally t = against_golden(encoding, name, golden::question::bug, name == "linear" ? "has_plus_inf" : "");
    INFO(name << ": " << t.first);
    CHECK((t.files > 0 || name == "optimized"));  // kernels are optional
    CHECK(t.wrong == 0);
  }
  for (const char* name : {"reference", "sequential"}) {
    const tally t = against_golden(encoding, name, golden::question::accuracy_class);
    INFO(name << ": " << t.first);
    CHECK(t.wrong == 0);
  }
  // log(1 + x) for log1p, or a scan with exponentials, is right but of another class.
  const auto& all = reference::operations();
  const bool has_it = std::any_of(all.begin(), all.end(), [&](const core::operation& op) {
    const auto& classes = reference::algorithms_of(op);
    return op.name.starts_with(encoding + "/") &&
           std::find(classes.begin(), classes.end(), reference::accuracy_class::linear) != classes.end();
  });
  CHECK((against_golden(encoding, "linear", golden::question::accuracy_class).wrong > 0) == has_it);
}

void check_wrong_ones(const std::string& encoding) {
  for (const properties::variant& anti : properties::anti_oracles()) {
    const tally t = against_golden(encoding, anti.id, golden::question::bug);
    INFO(anti.id);
    CHECK(t.files > 0);
    CHECK(t.wrong > 0);
  }
}

}  // namespace

#define ASSAY_ENCODING(name)                                                                                  \
  TEST_CASE("golden/sets/made_again_byte_by_byte/" #name, "[golden]") { check_that_it_is_made_again(#name); } \
  TEST_CASE("golden/builtins/right_ones_are_no_bugs/" #name, "[golden]") { check_right_ones(#name); }         \
  TEST_CASE("golden/builtins/wrong_ones_are_bugs/" #name, "[golden]") { check_wrong_ones(#name); }
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
