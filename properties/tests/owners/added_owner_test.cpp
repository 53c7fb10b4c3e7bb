// A rule makes the tests for formulas that a program adds. This test is a program of its own: its formulas would
// otherwise be in every list of another test.
#include <catch2/catch.hpp>

#include "properties/tests/gating.hpp"
#include "reference/registry.hpp"
#include "reference/tests/owners/renamed_encoding.hpp"

namespace assay::reference::encodings {
struct tener;
}

namespace assay::properties {
namespace {

using namespace testing;

// Normal numbers, on sizes that follow from roles.
family numbers_by_declaration() {
  family f{"numbers", "normal numbers"};
  f.generate = [](const core::operation& op, core::dtype type, const core::attributes&, core::counter_random& random,
                  extent size) {
    core::axis_sizes sizes;
    for (const std::string& symbol : core::axis_symbols(op)) {
      const bool is_long = core::role_of(op, symbol) == core::axis_role::token;
      std::size_t drawn = 1 + random.below(4);
      if (is_long && size.range == lengths::exactly) drawn = size.tokens;
      if (is_long && size.range == lengths::around_blocks) drawn += 30;
      sizes[symbol] = size.axis(symbol, drawn);
    }
    core::tensors inputs;
    for (const core::tensor_declaration& d : op.inputs) {
      core::tensor t = core::zeros(d.type_in(type), core::shape_of(d, sizes));
      for (double& x : t.values.storage()) x = core::round_to(type, random.normal());
      inputs.emplace(d.name, std::move(t));
    }
    return inputs;
  };
  return f;
}

std::vector<std::string>& owners_called() {
  static std::vector<std::string> names;
  return names;
}

encoding_tests by_rule(const reference::formula_owner& owner) {
  owners_called().emplace_back(owner.name());
  encoding_tests tests;
  tests.name = std::string(owner.name());
  tests.families = {numbers_by_declaration()};
  return tests;
}

void add_once() {
  static const bool once = [] {
    using renamed = reference::testing::renamed_encoding<reference::encodings::tener>;
    reference::add_formula_owner(std::make_unique<renamed>("tener", "test"));
    install_owner_tests(by_rule);
    return true;
  }();
  REQUIRE(once);
}

check_result truth_of(implementation& under_test, const core::operation& op, run_options::usual sizes) {
  run_options o = options(3);
  o.sizes = sizes;
  o.most_elements = 1u << 14;
  return run_property(truth_property(op), under_test, op, core::dtype::f32, o);
}

}  // namespace

TEST_CASE("properties/owners/tests_by_rule_stand_where_the_catalogue_has_none", "[gate]") {
  add_once();
  const core::operation& op = *reference::find_operation("test/scores");
  const encoding_tests* tests = encoding_tests_of(op);
  REQUIRE(tests != nullptr);
  CHECK(tests == &all_encoding_tests().back());
  CHECK(owners_called() == std::vector<std::string>{"test"});
  CHECK(mild_family_of(op).name == "numbers");
  CHECK(families_of(op).size() == 2);  // the second family has numbers of one sign
  CHECK(encoding_tests_of(*reference::find_operation("tener/scores"))->families.front().name != "numbers");
  CHECK_THROWS_AS(install_owner_tests(by_rule), core::contract_violation);
}

TEST_CASE("properties/owners/right_code_of_an_added_formula_passes", "[gate]") {
  add_once();
  const auto right = make_builtin("sequential").value();
  for (const char* name : {"test/scores", "test/scores:vjp"}) {
    const core::operation& op = *reference::find_operation(name);
    std::size_t passed = 0;
    for (const check_result& r : run_properties(*right, op, core::dtype::f32, options(2))) {
      passed += r.count(status::passed);
      if (r.verdict() == status::failed) FAIL_CHECK(reproduction("sequential", r));
    }
    CHECK(passed > 10);
    const check_result result = truth_of(*right, op, run_options::usual::some);
    CHECK(result.verdict() == status::passed);
    CHECK(result.count(status::passed) > truth_of(*right, op, run_options::usual::none).count(status::passed));
  }
}

TEST_CASE("properties/owners/mutants_of_an_added_formula_are_made_and_killed", "[gate]") {
  add_once();
  const core::operation& op = *reference::find_operation("test/scores");
  const encoding_tests& tests = *encoding_tests_of(op);
  CHECK(truth_of(*tests.unmutated(), op, run_options::usual::none).verdict() == status::passed);
  std::size_t killed = 0, all = 0;
  for (const variant& v : tests.generated()) {
    const bool is_of_values = v.id.ends_with("/negated") || v.id.ends_with("/doubled");
    if (!v.id.starts_with("generated/test/scores/") || !is_of_values) continue;
    ++all;
    if (truth_of(*v.make(), op, run_options::usual::none).verdict() == status::failed) ++killed;
  }
  CHECK(all >= 8);  // of each input, and of the output
  CHECK(killed == all);
}

}  // namespace assay::properties
