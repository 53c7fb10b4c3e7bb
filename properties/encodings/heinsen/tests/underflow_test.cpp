// X = e^s without a shift is right as long as X stays in the exponent range, however much its weights underflow. Trees
// also lose what products of gates carry.
#include <catch2/catch.hpp>

#include "properties/diagnosis/diagnose.hpp"
#include "properties/encodings/heinsen/mutants/linear_trees.hpp"
#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using core::dtype;

namespace {

// f32: weights above 0.1 and subnormal ones, with X near e^20 and near e^-80: the loss by a subnormal weight shows.
core::tensor drawn(const core::tensor_declaration& d, std::size_t tokens, core::counter_random& random) {
  const core::shape shape = d.axes.size() == 3 ? core::shape{2, tokens, 3} : core::shape{2, 3};
  std::vector<double> x(core::element_count(shape));
  for (double& v : x) {
    const bool low = random.one_in(2);
    if (d.name == "log_p" || d.name == "g")
      v = low ? random.uniform(-103, -87) : random.uniform(-2, 0);
    else if (d.name == "h" || d.name == "s0")
      v = random.uniform(-2, 2) + (low ? -78 : 18);
    else
      v = random.normal();
    v = core::round_to(dtype::f32, v);
  }
  return core::make_tensor(dtype::f32, shape, x);
}

std::unique_ptr<implementation> linear_states() {
  for (const encoding_tests& tests : all_encoding_tests())
    for (const variant& control : tests.controls)
      if (control.id == "control/linear_states") return control.make();
  return nullptr;
}

}  // namespace

TEST_CASE("heinsen/underflow/linear_states_are_explained", "[property][heinsen]") {
  const auto under_test = linear_states();
  REQUIRE(under_test);
  for (const char* name : {"heinsen/scan", "heinsen/gated_scan", "heinsen/scan:vjp", "heinsen/gated_scan:vjp",
                           "heinsen/scan:jvp", "heinsen/gated_scan:jvp"}) {
    const core::operation& op = *reference::find_operation(name);
    double beyond_rounding = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      core::counter_random random(seed);
      core::request call{&op, dtype::f32, {}, core::completed(op, {})};
      const std::size_t tokens = 1 + random.below(40);
      for (const auto& d : op.inputs) call.inputs.emplace(d.name, drawn(d, tokens, random));
      const call_result outputs = under_test->evaluate(call);
      REQUIRE(outputs);
      const value_report r = judge(*expect(call, under_test->describe().precisions_of(op, dtype::f32)), *outputs);
      INFO(name << " seed " << seed << ": " << r.message);
      CHECK(r.passed);
      beyond_rounding = std::max(beyond_rounding, r.ratios[static_cast<std::size_t>(reference::accuracy_class::tree)]);
    }
    INFO(name << ": the error as a multiple of what the laws without underflow allow");
    CHECK(beyond_rounding > 10.0);
  }
}

// Without tokens s0 comes back as log e^s0, and its derivatives through X / X.
TEST_CASE("heinsen/underflow/linear_states_without_tokens_are_explained", "[property][heinsen]") {
  const auto under_test = linear_states();
  REQUIRE(under_test);
  for (const char* name : {"heinsen/scan", "heinsen/scan:vjp", "heinsen/scan:jvp", "heinsen/gated_scan:vjp"}) {
    const core::operation& op = *reference::find_operation(name);
    std::size_t rounded = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      core::counter_random random(seed);
      core::request call{&op, dtype::f32, {}, core::completed(op, {})};
      for (const auto& d : op.inputs) call.inputs.emplace(d.name, drawn(d, 0, random));
      for (double& s0 : call.inputs.at("s0").values.storage())  // near 0 the digits of e^s0 differ from those of s0
        if (seed % 2 == 0) s0 = core::round_to(dtype::f32, random.normal());
      const call_result outputs = under_test->evaluate(call);
      REQUIRE(outputs);
      const auto truth = expect(call, under_test->describe().precisions_of(op, dtype::f32));
      const value_report r = judge(*truth, *outputs);
      INFO(name << " seed " << seed << ": " << r.message);
      CHECK(r.passed);
      for (const auto& [output, t] : *outputs) rounded += t.values != truth->truth.at(output).rounded.values ? 1 : 0;
    }
    INFO(name);
    CHECK(rounded > 20);
  }
}

namespace {

using namespace assay::properties::encodings::heinsen;

std::vector<linear_tree::element> products_in_random_brackets(const std::vector<linear_tree::element>& steps) {
  core::counter_random random(steps.size());
  const auto split = [&](std::size_t m) { return 1 + random.below(m - 1); };
  return reference::bracketed_prefixes(steps, split);
}
// Products of all gates up to the last token, from the last to the first: nothing contracts.
std::vector<linear_tree::element> products_from_the_last(const std::vector<linear_tree::element>& steps) {
  const auto split = [](std::size_t) -> std::size_t { return 1; };
  return reference::bracketed_prefixes(steps, split);
}

// f32: states between e^-20 and e^20, products of a few gates that are subnormal or vanish, and few cotangents and
// directions other than 0: such a product carries the whole result.
core::tensor drawn_for_trees(const core::tensor_declaration& d, std::size_t tokens, core::counter_random& random) {
  const core::shape shape = d.axes.size() == 3 ? core::shape{2, tokens, 3} : core::shape{2, 3};
  std::vector<double> x(core::element_count(shape));
  const double strength = random.uniform(5.0, 40.0);
  for (double& v : x) {
    if (d.name == "log_p" || d.name == "g")
      v = random.one_in(3) ? random.uniform(-1.0, 0.0) : random.uniform(-strength, 0.0);
    else if (d.name == "h" || d.name == "s0")
      v = random.uniform(-20.0, 20.0);
    else
      v = random.one_in(8) ? random.normal() : 0.0;
    v = core::round_to(dtype::f32, v);
  }
  return core::make_tensor(dtype::f32, shape, x);
}

// Errors in units of the laws of trees and of linear code, both with the class slack.
struct errors_of_a_tree {
  double beyond_tree = 0, beyond_linear = 0;
};
errors_of_a_tree check_tree(const char* id, linear_tree::prefixes prefixes_of, const char* name) {
  const auto under_test = changed_heinsen(id, "", "", {.formula = in_linear_tree(prefixes_of)}).make();
  const core::operation& op = *reference::find_operation(name);
  errors_of_a_tree found;
  for (std::uint64_t seed = 0; seed < scaled(80); ++seed) {
    core::counter_random random(seed);
    core::request call{&op, dtype::f32, {}, core::completed(op, {})};
    const std::size_t tokens = 1 + random.below(70);
    for (const auto& d : op.inputs) call.inputs.emplace(d.name, drawn_for_trees(d, tokens, random));
    const call_result outputs = under_test->evaluate(call);
    REQUIRE(outputs);
    const value_report r = judge(*expect(call, under_test->describe().precisions_of(op, dtype::f32)), *outputs);
    INFO(id << " " << name << " seed " << seed << ": " << r.message);
    CHECK(r.passed);
    const auto ratio = [&](reference::accuracy_class c) { return r.ratios[static_cast<std::size_t>(c)]; };
    found.beyond_tree = std::max(found.beyond_tree, ratio(reference::accuracy_class::tree));
    // An error that the law of trees explains need not meet that of class linear.
    if (ratio(reference::accuracy_class::tree) > 1.0)
      found.beyond_linear = std::max(found.beyond_linear, ratio(reference::accuracy_class::linear));
  }
  return found;
}

}  // namespace

TEST_CASE("heinsen/underflow/linear_trees_are_explained", "[property][heinsen]") {
  struct shape {
    const char* name;
    linear_tree::prefixes prefixes_of;
  };
  for (const char* name : {"heinsen/scan", "heinsen/scan:vjp", "heinsen/gated_scan:vjp", "heinsen/scan:jvp"}) {
    double beyond_tree = 0;
    for (const shape& s :
         {shape{"doubling", products_by_doubling}, shape{"neighbours", products_of_neighbours},
          shape{"from_the_first", products_from_the_first}, shape{"random", products_in_random_brackets},
          shape{"from_the_last", products_from_the_last}}) {
      const errors_of_a_tree e = check_tree(s.name, s.prefixes_of, name);
      fmt::print("{} {}: error / law of trees {:.3g}, of linear {:.3g}\n", name, s.name, e.beyond_tree,
                 e.beyond_linear);
      INFO(name << " " << s.name << ": the error as a multiple of the law of class linear");
      CHECK(e.beyond_linear <= 1.0);
      CHECK(e.beyond_linear > 0.05);
      beyond_tree = std::max(beyond_tree, e.beyond_tree);
    }
    INFO(name << ": the error as a multiple of what the laws without underflow allow");
    if (core::operation_name(name).kind == core::derivative::vjp) CHECK(beyond_tree > 10.0);
  }
}

TEST_CASE("heinsen/underflow/a_state_below_what_products_of_gates_carry_is_a_named_fault", "[property][gate]") {
  for (const char* mutant : {"mutant/products_of_gates_underflow", "mutant/products_of_neighbours_underflow",
                             "mutant/product_of_all_gates_underflows"}) {
    const auto under_test = make_builtin(mutant).value();
    const core::operation& op = *reference::find_operation("heinsen/scan");
    const check_result r = run_property(testing::truth_property(op), *under_test, op, dtype::f32, testing::options(30));
    REQUIRE(r.found);
    diagnosis_options o{{}, testing::seed};
    o.failed.push_back({r.checked, r.found->minimal});
    const diagnosis d = diagnose(*under_test, op, dtype::f32, o);
    INFO(mutant << ": " << d.explained.value_or(d.facts.value_or("")));
    REQUIRE(d.explained);
    CHECK(d.explained->starts_with("behaves like: products of p underflow, and the state that they carry is lost"));
  }
}
