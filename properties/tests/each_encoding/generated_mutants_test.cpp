// Mutants made by rule: each is caught, or is no mutant, or errs by less than the gate can detect.
#include <catch2/catch.hpp>
#include <map>

#include "properties/faults/declared_faults.hpp"
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
  // Neither identical outputs nor the map may excuse many mutants.
  CHECK(static_cast<double>(t.caught) >= 0.9 * static_cast<double>(t.mutants));
}

}  // namespace

// An operation whose axes have names that no other operation uses.
TEST_CASE("properties/faults/of_tokens_and_rows_follow_from_roles", "[unit][gate]") {
  using core::axis_role;
  const core::operation op{.name = "other/turn",
                           .inputs = {{.name = "u", .axes = {"R", "t", "c"}}},
                           .outputs = {{.name = "w", .axes = {"R", "t", "c"}}},
                           .axis_roles = {{"R", axis_role::batch}, {"t", axis_role::token}, {"c", axis_role::width}}};
  std::map<std::string, std::string> words;
  for (const declared_fault_list& list : {value_faults(op), axis_faults(op)})
    for (const declared_fault& f : list) words[f.where + "/" + f.what] = f.words;
  CHECK(words.contains("u/last_lost_along_t_1"));
  CHECK(words.contains("w/lost_from_64_along_t_1"));
  CHECK(!words.contains("w/lost_from_64_along_c_2"));
  CHECK(words.at("u/first_for_all_along_R_0") == "u is that of the first row for all");
}

// A step of a decoder; its position has no axis.
TEST_CASE("properties/faults/of_a_position_for_all_are_those_of_a_number", "[unit][gate]") {
  const core::operation op{.name = "other/step",
                           .inputs = {{.name = "u", .axes = {"c"}},
                                      core::integers("at", {}, "", core::value_domain{}, core::input_role::position)},
                           .outputs = {{.name = "w", .axes = {"c"}}},
                           .axis_roles = {{"c", core::axis_role::width}}};
  CHECK_NOTHROW(core::check_roles(op));
  const declared_fault_list all = declared_faults(op);
  const auto is_of = [](const char* tensor) { return [=](const declared_fault& f) { return f.where == tensor; }; };
  CHECK(std::any_of(all.begin(), all.end(), is_of("u")));
  CHECK(std::any_of(all.begin(), all.end(), is_of("at")));
}

// A test for each encoding, so that test processes share the work.
#define ASSAY_ENCODING(name) \
  TEST_CASE("properties/mutants/generated_are_caught/" #name, "[property][gate]") { check_kills_of_generated(#name); }
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
