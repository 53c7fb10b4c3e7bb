// Mutants made by rule: each is caught, or is none, or errs by less than the gate can see.
#include <catch2/catch.hpp>

#include "properties/harness/generated_trials.hpp"
#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

void check_kills_of_generated(const std::string& encoding) {
  trial_options o;
  o.seed = seed;
  o.cases = scaled(4);
  const generated_trials t = try_generated_mutants(tests_of(encoding), o);
  for (const survivor& s : t.survivors) {
    INFO(s.mutant << ": " << s.detail);
    CHECK(s.why != survival::unexplained);
  }
  CHECK(t.mutants >= 100);
  // Neither rule nor map may explain much away.
  CHECK(static_cast<double>(t.caught) >= 0.9 * static_cast<double>(t.mutants));
}

}  // namespace

// A test for each encoding, so that test processes share the work.
#define ASSAY_ENCODING(name) \
  TEST_CASE("properties/mutants/generated_are_caught/" #name, "[property][gate]") { check_kills_of_generated(#name); }
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
