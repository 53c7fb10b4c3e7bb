// Every mutant and anti-oracle is refused, on small cases that repeat.
#include <algorithm>
#include <catch2/catch.hpp>

#include "properties/harness/kill_table.hpp"
#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

void check_kills(const std::string& encoding) {
  trial_options first_kill;
  first_kill.seed = seed;
  first_kill.cases = scaled(6);
  first_kill.shrink_calls = 80;
  first_kill.enough = 1;
  std::vector<std::size_t> tokens, lanes;
  for (const trial& t : try_mutants(tests_of(encoding).mutants, first_kill)) {
    INFO(t.mutant.id << " in " << core::name_of(t.type) << ", modelled on " << t.mutant.models
                     << "; again: assay mutants " << t.mutant.id << " --seed " << seed);
    CHECK(t.checks > 0);
    CHECK_FALSE(t.kills.empty());
    for (const kill& found : t.kills) {
      INFO(found.by->name << " " << summary(found.found.minimal));
      // A fault that depends on earlier calls need not show in a fresh instance.
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
  if (tokens.empty()) return;  // the encoding has no mutants of its own
  CHECK(median(tokens) <= 4);
  // A pair that is rotated, or multiplied by a sinusoid, has two lanes; a width that is a setting does not shrink.
  const std::vector<core::operation> all = operations_of(encoding);
  const bool sets_width = std::any_of(all.begin(), all.end(), [](const auto& op) { return op.attribute("width"); });
  const bool has_pairs = std::any_of(all.begin(), all.end(), [](const auto& op) {
    return (op.input("x") && op.input("position")) || (op.input("q") && op.attribute("rule"));
  });
  CHECK(median(lanes) <= (sets_width ? 8 : has_pairs ? 2 : 1));
}

void check_anti_oracles(const std::string& encoding) {
  for (const variant& anti : anti_oracles()) {
    const auto under_test = anti.make();
    for (const core::operation& op : operations_of(encoding))
      for (const core::dtype type : core::floating_dtypes) {
        const check_result r = run_property(truth_property(op), *under_test, op, type, options(2));
        INFO(anti.id << " " << op.name << " " << core::name_of(type));
        CHECK(r.verdict() == status::failed);
      }
  }
}

}  // namespace

#define ASSAY_ENCODING(name)                                                                       \
  TEST_CASE("properties/mutants/killed/" #name, "[property][gate]") { check_kills(#name); }        \
  TEST_CASE("properties/anti_oracles/every_value_check_refuses_them/" #name, "[property][gate]") { \
    check_anti_oracles(#name);                                                                     \
  }
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
