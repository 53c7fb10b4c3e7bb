// Formulas that a program adds. This test is a program of its own, since its formulas would be in the list of every
// other test.
#include "reference/registry.hpp"

#include <atomic>
#include <catch2/catch.hpp>

#include "reference/core/counter_random.hpp"
#include "reference/evaluate_in.hpp"
#include "reference/oracle.hpp"
#include "reference/tests/owners/renamed_encoding.hpp"

namespace assay::reference {
namespace encodings {
struct tener;
}

namespace {

using testing::renamed_encoding;
using renamed_scores = renamed_encoding<encodings::tener>;

std::unique_ptr<renamed_scores> made(std::string name) {
  return std::make_unique<renamed_scores>("tener", std::move(name));
}

// How often the running bound of the function was called.
std::atomic<std::size_t>& count_of_bounds() {
  static std::atomic<std::size_t> times = 0;
  return times;
}

const formula_owner& added() {
  static const formula_owner* const owner = [] {
    auto made_here = made("test");
    made_here->change().front().bound = [times = &count_of_bounds()](const core::request&, doubles) {
      ++*times;
      return rung_outputs{};  // nothing is decided
    };
    const formula_owner* same = made_here.get();
    add_formula_owner(std::move(made_here));
    return same;
  }();
  return *owner;
}

core::request call_of(const std::string& operation, core::dtype type) {
  const core::operation& op = *find_operation(operation);
  core::counter_random random(7);
  core::request call{&op, type, {}, core::completed(op, {})};
  for (const core::tensor_declaration& d : op.inputs) {
    core::tensor t = core::zeros(type, core::shape_of(d, {{"B", 2}, {"h", 2}, {"n", 3}, {"d", 4}}));
    for (double& x : t.values.storage()) x = core::round_to(type, random.normal());
    call.inputs.emplace(d.name, std::move(t));
  }
  return call;
}

void refuses(std::unique_ptr<renamed_scores> owner, const char* why) {
  CHECK_THROWS_WITH(add_formula_owner(std::move(owner)), Catch::Matchers::Contains(why));
}

}  // namespace

TEST_CASE("reference/registry/a_look_up_gives_what_the_owner_declares", "[unit]") {
  const formula_owner& owner = added();
  CHECK(encoding_names().back() == "test");
  CHECK(&summary_of("test") == &owner.summary());
  CHECK(formula_owners().back().get() == &owner);
  std::vector<const core::operation*> listed;
  for (const core::operation& op : operations()) {
    CHECK(find_operation(op.name) == &op);
    CHECK(&declaration_of(op).declaration == &op);
    if (&owner_of(op) == &owner) listed.push_back(&op);
  }
  REQUIRE(listed.size() == owner.operations().size());
  REQUIRE(listed.size() == 2);
  for (std::size_t i = 0; i < listed.size(); ++i) CHECK(listed[i] == &owner.operations()[i].declaration);
  CHECK(&forward_of(*listed[1]) == listed[0]);
  CHECK(find_operation("test/score") == nullptr);
  CHECK(find_operation("") == nullptr);
  CHECK_THROWS_AS(owner_of({.name = "nobody/scores"}), core::contract_violation);
  CHECK_THROWS_AS(declaration_of({.name = "test/nothing"}), core::contract_violation);
}

TEST_CASE("reference/registry/added_formulas_are_proved_and_computed_like_those_of_the_list", "[unit]") {
  added();
  for (const std::string suffix : {"/scores", "/scores:vjp"})
    for (const core::dtype type : {core::dtype::f32, core::dtype::bf16}) {
      const core::request own = call_of("test" + suffix, type), same = call_of("tener" + suffix, type);
      const certified_outputs truth = certify(own), known = certify(same);
      CHECK(count_undecided(truth) == 0);
      const allowances allowed = allow(own, type), allowed_known = allow(same, type);
      const core::tensors plain = evaluate(own, accuracy_class::sequential),
                          known_plain = evaluate(same, accuracy_class::sequential),
                          wide = evaluate_in(own, core::dtype::f64), known_wide = evaluate_in(same, core::dtype::f64);
      REQUIRE_FALSE(known.empty());
      for (const auto& [name, c] : known) {
        CHECK(core::identical(truth.at(name).rounded, c.rounded));
        CHECK(allowed.at(name).k == allowed_known.at(name).k);
        CHECK(core::identical(plain.at(name), known_plain.at(name)));
        CHECK(core::identical(wide.at(name), known_wide.at(name)));
      }
    }
  const core::request own = call_of("test/scores", core::dtype::f32), same = call_of("tener/scores", core::dtype::f32);
  CHECK(count_of_bounds() > 0);
  CHECK(derivative_along(own, own.inputs) == derivative_along(same, same.inputs));
}

TEST_CASE("reference/registry/refuses_what_no_look_up_could_tell_apart", "[unit]") {
  added();
  refuses(made("test"), "there is another 'test'");
  refuses(made("rope"), "there is another 'rope'");
  for (const char* name : {"", "a/b", "a:vjp"}) refuses(made(name), "is no name");
  const auto changed = [](auto change) {
    auto owner = made("other");
    change(owner->change());
    return owner;
  };
  refuses(changed([](auto& all) { all[0].declaration.name = "rope/scores"; }), "is not called after it");
  refuses(changed([](auto& all) { all[0].declaration.name = "others/scores"; }), "is not called after it");
  refuses(changed([](auto& all) { all.push_back(all[0]); }), "there is another 'other/scores'");
  refuses(changed([](auto& all) { all.erase(all.begin()); }), "no function stands before");
  refuses(changed([](auto& all) { all[0].algorithms.clear(); }), "its algorithms");
  refuses(changed([](auto& all) { all[0].algorithms = {accuracy_class::uniform}; }), "its algorithms");
  refuses(changed([](auto& all) { all[0].declaration.inputs[0].axes = {"B", "unknown"}; }), "has no role");
  CHECK_THROWS_AS(add_formula_owner(nullptr), core::contract_violation);
}

TEST_CASE("reference/registry/is_closed_by_the_first_look_up", "[unit]") {
  added();
  const std::size_t before = operations().size();
  refuses(made("late"), "after the first look-up");
  CHECK(operations().size() == before);
  CHECK(find_operation("late/scores") == nullptr);
}

}  // namespace assay::reference
