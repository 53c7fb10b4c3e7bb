// The plain sentences: true of what they are said of, and never said of what is right.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "properties/builtin.hpp"
#include "properties/diagnosis/diagnose.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::properties;

namespace {

constexpr std::uint64_t seed = 20240417;

diagnosis diagnosed(const std::string& name, const std::string& operation, core::dtype type) {
  auto under_test = make_builtin(name);
  REQUIRE(under_test);
  return diagnose(**under_test, *reference::find_operation(operation), type, nullptr, seed);
}

struct expected_sentence {
  const char *mutant, *operation, *sentence;
};

}  // namespace

TEST_CASE("heinsen/diagnosis/all", "[.list]") {
  for (const encoding_tests& tests : all_encoding_tests())
    for (const variant& m : tests.mutants)
      for (const core::operation& op : reference::operations()) {
        const diagnosis d = diagnosed(m.id, op.name, core::dtype::f32);
        if (d.facts)
          fmt::print("{} {}: {} | {}\n", m.id.substr(7), op.name.substr(8), d.explained.value_or("-"), *d.facts);
      }
}
