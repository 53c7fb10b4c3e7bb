// An operation whose formula is a program, and the same operation of the list: they are equal in every reading.
#include "reference/formula/owner.hpp"

#include <catch2/catch.hpp>

#include "reference/core/counter_random.hpp"
#include "reference/formula/tests/recorded_operations.hpp"
#include "reference/registry.hpp"

namespace assay::reference::formula::owned {

core::request drawn(const core::operation& op, core::dtype type, std::uint64_t seed) {
  core::counter_random random(seed);
  core::axis_sizes sizes;
  for (const std::string& axis : core::axis_symbols(op)) sizes[axis] = 1 + random.below(5);
  core::request call{&op, type, {}};
  if (op.input("x") != nullptr) call.attributes["layout"] = std::string(seed % 3 == 0 ? "interleaved" : "half_split");
  for (const core::tensor_declaration& d : op.inputs) {
    core::tensor t = core::zeros(d.type_in(type), core::shape_of(d, sizes));
    for (double& x : t.values.storage()) {
      x = d.own_type ? static_cast<double>(random.below(5000)) : core::round_to(type, 2 * random.normal());
      if (d.name == "bias" && random.below(4) == 0) x = -std::numeric_limits<double>::infinity();
    }
    call.inputs.emplace(d.name, std::move(t));
  }
  return call;
}

}  // namespace assay::reference::formula::owned

TEST_CASE("formula/owner/a_program_is_the_formula_of_the_list", "[property]") {
  using namespace assay;
  using namespace assay::reference;
  using namespace assay::reference::formula;
  using namespace assay::reference::formula::owned;
  const auto same = [](const rung_outputs& a, const rung_outputs& b) {
    REQUIRE(a.size() == b.size());
    for (const auto& [name, x] : a) {
      const rung_output& y = b.at(name);
      INFO(name);
      CHECK(x.rounded.shape() == y.rounded.shape());
      for (std::size_t i = 0; i < x.decided.size(); ++i)
        if (x.decided[i] != 0 && y.decided[i] != 0)
          CHECK(core::same_value(x.rounded.values.storage()[i], y.rounded.values.storage()[i]));
    }
  };
  const program_owner owner("mine", {},
                            {{declared_as("mine/rotate", "rope/rotate"), recorded_rotation},
                             {declared_as("mine/output", "attention/output"), recorded_attention}});
  REQUIRE(owner.operations().size() == 4);
  for (std::uint64_t seed = 0; seed < 240; ++seed) {
    const core::dtype type = core::floating_dtypes[seed / 4 % std::size(core::floating_dtypes)];
    const core::operation& own_op = owner.operations()[seed % 4].declaration;
    const bool is_attention = own_op.name.starts_with("mine/output");
    const core::operation& listed_op = *find_operation((is_attention ? "attention/output" : "rope/rotate") +
                                                       std::string(own_op.is_forward() ? "" : ":vjp"));
    const core::request own_call = drawn(own_op, type, seed), listed_call = drawn(listed_op, type, seed);
    REQUIRE(core::check_request(own_call).has_value());
    INFO(own_op.name << " in " << core::name_of(type) << ", seed " << seed);
    const formula_owner& listed = owner_of(listed_op);
    same(owner.enclose_in_doubles(own_call), listed.enclose_in_doubles(listed_call));
    same(owner.enclose_in_two_doubles(own_call), listed.enclose_in_two_doubles(listed_call));
    same(owner.enclose(own_call, 35), listed.enclose(listed_call, 35));
    const core::precisions formats = own_op.usual_precisions(type);
    const std::vector own{accuracy_class::sequential};
    const auto own_laws = owner.laws(own_call, own, formats).front();
    const auto before_laws = listed.laws(listed_call, own, formats).front();
    for (const auto& [name, law] : before_laws)
      for (std::size_t i = 0; i < law.k.size(); ++i) {
        const double k = own_laws.at(name).k.storage()[i], before = law.k.storage()[i];
        INFO(name << " " << i);
        if (std::isnan(before)) {
          CHECK(std::isnan(k));
          continue;
        }
        // The allowance of a gradient is that of the program, and not that of the block that the kind of attention has:
        // a softmax is charged by the steps of its rule, and the cast of a sum in a stage as the casts of its terms. A
        // program does not yet say that weights are cast when they multiply values.
        const bool is_equal =
            is_attention ? own_op.is_forward() && !formats.differ() : own_op.is_forward() || !formats.differ();
        if (is_equal || !is_attention) CHECK(k >= 0.99 * before);
        CHECK(k <= (is_equal ? 1.01 : !is_attention ? 5.0 : formats.differ() ? 10.0 : 4.0) * before);
      }
    if (is_attention || !own_op.is_forward()) continue;
    const auto plain = owner.evaluate_in(own_call, formats, accuracy_class::sequential);
    for (const auto& [name, t] : listed.evaluate_in(listed_call, formats, accuracy_class::sequential))
      for (std::size_t i = 0; i < t.size(); ++i)
        CHECK(core::same_value(plain.at(name).values.storage()[i], t.values.storage()[i]));
  }
}

TEST_CASE("formula/owner/a_program_of_another_declaration_is_refused", "[unit]") {
  using namespace assay;
  using namespace assay::reference::formula;
  using namespace assay::reference::formula::owned;
  const program_owner owner("mine", {}, {{declared_as("mine/rotate", "rope/rotate"), [](const program_sizes& s) {
                                            recording recorder;
                                            recorder.output("y", recorder.input("x", {s.size("h")}));
                                            return recorder.finish();
                                          }}});
  const core::request call = drawn(owner.operations().front().declaration, core::dtype::f32, 3);
  CHECK_THROWS_WITH(owner.enclose(call, 35), Catch::Contains("'x' has") && Catch::Contains("in the program"));
}
