// Every mutant and anti-oracle is refused, on small cases that repeat, and no property is idle.
#include <algorithm>
#include <catch2/catch.hpp>

#include "properties/harness/kill_table.hpp"
#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

trial_options trying() {
  trial_options o;
  o.seed = seed;
  o.cases = scaled(6);
  o.shrink_calls = 80;
  return o;
}

std::vector<variant> all_mutants() {
  std::vector<variant> all;
  for (const encoding_tests& tests : all_encoding_tests())
    all.insert(all.end(), tests.mutants.begin(), tests.mutants.end());
  return all;
}

// Every third mutant, so that test processes share the work.
void check_part(std::size_t part) {
  const std::vector<variant> mutants = all_mutants();
  std::vector<variant> some;
  for (std::size_t k = part; k < mutants.size(); k += 3) some.push_back(mutants[k]);
  REQUIRE_FALSE(some.empty());
  trial_options first_kill = trying();
  first_kill.enough = 1;
  std::vector<std::size_t> tokens, lanes;
  for (const trial& t : try_mutants(some, first_kill)) {
    INFO(t.mutant.id << " in " << core::name_of(t.type) << ", modelled on " << t.mutant.models
                     << "; again: assay mutants " << t.mutant.id << " --seed " << seed);
    CHECK(t.checks > 0);
    CHECK_FALSE(t.kills.empty());
    for (const kill& found : t.kills) {
      INFO(found.by->name << " " << summary(found.found.minimal));
      // What depends on earlier calls need not show in a fresh instance.
      if (!t.mutant.remembers) CHECK(found.repeats);
    }
    if (t.mutant.remembers) continue;
    const auto least = smallest(t);
    CHECK(least);
    if (!least) continue;
    tokens.push_back(least->tokens);
    lanes.push_back(least->lanes);
  }
  const auto median = [](std::vector<std::size_t>& x) {
    std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
    return x[x.size() / 2];
  };
  REQUIRE_FALSE(tokens.empty());
  CHECK(median(tokens) <= 4);
  CHECK(median(lanes) == 1);
}

}  // namespace

TEST_CASE("properties/mutants/killed_part_1_of_3", "[property][gate]") { check_part(0); }
TEST_CASE("properties/mutants/killed_part_2_of_3", "[property][gate]") { check_part(1); }
TEST_CASE("properties/mutants/killed_part_3_of_3", "[property][gate]") { check_part(2); }

TEST_CASE("properties/mutants/no_property_is_idle", "[property][gate]") {
  // A property that kills nothing proves nothing.
  std::vector<variant> telling = all_mutants();
  std::erase_if(telling, [](const variant& m) { return !m.telling; });
  trial_options o = trying();
  o.shrink_calls = 0;
  const std::vector<trial> trials = try_mutants(telling, o);
  REQUIRE(trials.size() >= all_encoding_tests().size());
  for (const property* idle : idle_properties(trials)) {
    INFO(idle->name);
    CHECK_FALSE(idle->stays_because.empty());
  }
}

TEST_CASE("properties/anti_oracles/every_value_check_refuses_them", "[property][gate]") {
  for (const variant& anti : anti_oracles()) {
    const auto under_test = anti.make();
    for (const core::operation& op : reference::operations())
      for (const core::dtype type : core::floating_dtypes) {
        const check_result r = run_property(truth_property(op), *under_test, op, type, options(2));
        INFO(anti.id << " " << op.name << " " << core::name_of(type));
        CHECK(r.verdict() == status::failed);
      }
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
