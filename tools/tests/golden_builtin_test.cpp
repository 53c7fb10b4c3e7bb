// The committed golden sets against the implementations that ship with Assay: right ones stay within what is
// allowed, wrong ones do not.
#include <algorithm>
#include <catch2/catch.hpp>

#include "golden/compare_set.hpp"
#include "properties/builtin.hpp"
#include "properties/harness/catalogue.hpp"
#include "reference/oracle.hpp"
#include "tools/golden/reveal.hpp"

namespace {

using namespace assay;

struct tally {
  std::size_t files = 0, wrong = 0;
  std::string first;  ///< the first wrong element
};

// All files of the committed sets that the implementation offers, once, but for those of a flag.
tally against_golden(const std::string& builtin, golden::question asked, const char* but_for = "") {
  static const auto sets = std::filesystem::path(ASSAY_SOURCE_DIR) / "golden" / "sets";
  const auto under_test = properties::make_builtin(builtin).value();
  tally t;
  for (const std::string& encoding : reference::encoding_names()) {
    const golden::manifest m = golden::read_manifest(sets / encoding).value();
    for (const golden::listed_file& listed : m.files) {
      const golden::set_file& f = listed.file;
      if (!under_test->describe().offers(f.operation->name, f.type)) continue;
      if (std::find(f.flags.begin(), f.flags.end(), but_for) != f.flags.end()) continue;
      const golden::golden_file file = golden::read_golden_file(sets / encoding / f.name()).value();
      const auto outputs = under_test->evaluate(file.call);
      if (!outputs) continue;
      ++t.files;
      const core::dtype arithmetic = tools::arithmetic_for(*under_test, file.call);
      for (const auto& [name, x] : *outputs) {
        const golden::comparison c = golden::compare_output(file, name, x, asked, arithmetic);
        if (c.wrong > 0 && t.wrong == 0)
          t.first = f.name() + ": " + name + core::index_text(x.shape(), c.first_wrong) + " is " +
                    std::to_string(x.values.storage()[c.first_wrong]) + " instead of " +
                    std::to_string(file.tensors.at(name).values.storage()[c.first_wrong]);
        t.wrong += c.wrong;
      }
    }
  }
  return t;
}

}  // namespace

TEST_CASE("golden/builtins/right_ones_are_no_bugs_and_of_their_class", "[golden]") {
  for (const char* name : {"reference", "sequential", "optimized", "tree", "linear"}) {
    // A running shift of +inf is NaN.
    const bool shifts = name == std::string("linear");
    const tally t = against_golden(name, golden::question::bug, shifts ? "has_plus_inf" : "");
    INFO(name << ": " << t.first);
    CHECK(t.files > 0);
    CHECK(t.wrong == 0);
  }
  for (const char* name : {"reference", "sequential"}) {
    const tally t = against_golden(name, golden::question::accuracy_class);
    INFO(name << ": " << t.first);
    CHECK(t.wrong == 0);
  }
  // A scan by log(1 + x) for log1p, or by exponentials, is right and of another class.
  CHECK(against_golden("linear", golden::question::accuracy_class).wrong > 0);
}

TEST_CASE("golden/builtins/wrong_ones_are_bugs", "[golden]") {
  for (const properties::variant& anti : properties::anti_oracles()) {
    const tally t = against_golden(anti.id, golden::question::bug);
    INFO(anti.id);
    CHECK(t.files > 0);
    CHECK(t.wrong > 0);
  }
}
