// Mutants made by rule: each is caught, or is none, or errs by less than the gate can see.
#include <catch2/catch.hpp>

#include "properties/harness/generated_trials.hpp"
#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

TEST_CASE("properties/mutants/generated_are_caught", "[property][gate]") {
  trial_options o;
  o.seed = seed;
  o.cases = scaled(4);
  const generated_trials t = try_generated_mutants(o);
  for (const survivor& s : t.survivors) {
    INFO(s.mutant << ": " << s.detail);
    CHECK(s.why != survival::unexplained);
  }
  CHECK(t.mutants >= 300);
  // Neither rule nor map may explain much away.
  CHECK(static_cast<double>(t.caught) >= 0.95 * static_cast<double>(t.mutants));
}
