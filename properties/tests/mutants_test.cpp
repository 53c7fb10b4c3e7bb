// No property is idle, and equal seeds give equal cases.
#include <catch2/catch.hpp>

#include "properties/harness/kill_table.hpp"
#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

std::vector<variant> all_mutants() {
  std::vector<variant> all;
  for (const encoding_tests& tests : all_encoding_tests())
    all.insert(all.end(), tests.mutants.begin(), tests.mutants.end());
  return all;
}

}  // namespace

TEST_CASE("properties/mutants/no_property_is_idle", "[property][gate]") {
  // A property that kills no mutant proves nothing.
  std::vector<variant> mutants = all_mutants();
  std::erase_if(mutants, [](const variant& m) { return !m.representative; });
  trial_options o;
  o.seed = seed;
  o.cases = scaled(6);
  o.shrink_calls = 0;
  REQUIRE_FALSE(mutants.empty());
  for (const property& p : properties::properties()) {
    INFO(p.name);
    CHECK((!p.stays_because.empty() || !is_idle(p, mutants, o)));
  }
}

TEST_CASE("properties/runner/same_seed_same_cases", "[property][gate]") {
  const auto under_test = make_builtin("mutant/carries_input").value();
  const core::operation& op = *reference::find_operation("heinsen/scan");
  const auto once = [&](std::uint64_t with_seed) {
    run_options o = options(4);
    o.seed = with_seed;
    return summary(run_property(*find_property("value"), *under_test, op, core::dtype::f32, o).found.value().original);
  };
  CHECK(once(1) == once(1));
  CHECK(once(1) != once(2));
}
