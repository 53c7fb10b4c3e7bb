// X = e^s without a shift is right as long as X stays in the exponent range, however much its weights underflow.
#include <catch2/catch.hpp>

#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using core::dtype;

namespace {

// f32: weights of 1 and subnormal ones, X near e^20 and near e^-80: what a subnormal weight lost is seen.
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

// No tokens at all: s0 comes back as log e^s0, its derivatives through X / X.
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
      for (double& s0 : call.inputs.at("s0").values.storage())  // near 0 the digits of e^s0 are not those of s0
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
