// A diagnosis says nothing about right code.
#include <catch2/catch.hpp>

#include "properties/diagnosis/diagnose.hpp"
#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

constexpr std::uint64_t diagnosis_seed = 20240417;

// The outer loop is over operations: all implementations use the truths of one operation.
void check_of_builtins(const std::string& encoding) {
  std::size_t examined = 0;
  for (const core::operation& op : operations_of(encoding))
    for (const core::dtype type : {core::dtype::f64, core::dtype::f32})
      for (const char* name : {"optimized", "reference", "sequential", "tree", "linear", "cumsum", "control/odd_chunks",
                               "control/doubling_tree", "control/double_inside"}) {
        INFO(name << " " << op.name << " " << core::name_of(type) << ", seed " << diagnosis_seed);
        const auto under_test = make_builtin(name);  // a build without Heinsen's encoding does not have these controls
        if (!under_test || !(*under_test)->describe().offers(op.name, type) || !is_own_algorithm(name, op)) continue;
        // The truth itself needs up to 1000 digits: it is tried once for each function.
        if (std::string(name) == "reference" && (type == core::dtype::f64 || !op.is_forward())) continue;
        const diagnosis d = diagnose(**under_test, op, type, {{}, diagnosis_seed});
        INFO(d.explained.value_or("") << d.facts.value_or(""));
        CHECK_FALSE(d.explained);
        CHECK_FALSE(d.facts);
        ++examined;
      }
  REQUIRE(examined > 0);
}

void check_of_controls(const std::string& encoding) {
  const std::vector<variant>& controls = tests_of(encoding).controls;
  REQUIRE_FALSE(controls.empty());
  for (const core::operation& op : operations_of(encoding))
    for (const variant& control : controls) {
      const auto under_test = control.make();
      if (!under_test->describe().offers(op.name, core::dtype::f32)) continue;
      const diagnosis d = diagnose(*under_test, op, core::dtype::f32, {{}, diagnosis_seed, control.make});
      INFO(control.id << " " << op.name << ": " << d.explained.value_or("") << d.facts.value_or(""));
      CHECK_FALSE(d.explained);
      CHECK_FALSE(d.facts);
      CHECK_FALSE(d.other_bits);
    }
}

}  // namespace

#define ASSAY_ENCODING(name)                                                                      \
  TEST_CASE("properties/diagnosis/nothing_is_said_of_what_is_right/" #name, "[property][gate]") { \
    check_of_builtins(#name);                                                                     \
  }                                                                                               \
  TEST_CASE("properties/diagnosis/nothing_is_said_of_controls/" #name, "[property][gate]") { check_of_controls(#name); }
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
