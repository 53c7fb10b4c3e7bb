// Right implementations pass, in whatever way they compute.
#include <catch2/catch.hpp>
#include <set>

#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

struct named {
  std::string name;
  std::unique_ptr<implementation> under_test;
};

std::vector<named> controls_of(const encoding_tests& tests) {
  std::vector<named> all;
  for (const variant& control : tests.controls) all.push_back({control.id, control.make()});
  return all;
}

// The outer loop is over operations: all controls use the truths of one operation.
void check_controls(const std::string& encoding, core::dtype type) {
  const std::vector<named> all = controls_of(tests_of(encoding));
  REQUIRE_FALSE(all.empty());
  std::map<std::string, std::size_t> passed, checks;
  for (const core::operation& op : operations_of(encoding))
    for (const named& control : all)
      for (const check_result& r : run_properties(*control.under_test, op, type, options(2))) {
        passed[control.name] += r.count(status::passed);
        ++checks[control.name];
        if (r.verdict() == status::failed) FAIL_CHECK(reproduction(control.name, r));
      }
  for (const named& control : all) {
    INFO(control.name);
    CHECK(passed[control.name] > 3 * checks[control.name]);  // two cases for each family
  }
}

// All that builtins passed or failed, so that a declared property or family without a case is noticed.
struct executed {
  std::set<std::string> properties, families;
};

bool is_checked_for_any(const property& p, const std::vector<core::operation>& operations, const description& about) {
  return std::any_of(operations.begin(), operations.end(), [&](const auto& op) { return is_checked(p, op, about); });
}

// Whether the property is informative when it has more than one case for each family.
bool is_informative(const property& p, const std::vector<core::operation>& operations, core::dtype type) {
  const auto under_test = make_builtin("sequential").value();
  for (const core::operation& op : operations)
    if (is_checked(p, op, under_test->describe()) &&
        run_property(p, *under_test, op, type, options(12)).verdict() == status::passed)
      return true;
  return false;
}

// Each algorithm is right, and never worse than the class that bears its name.
void check_builtins(const std::string& encoding, core::dtype type) {
  executed all;
  std::set<std::string> declared_families;
  const std::vector<core::operation> operations = operations_of(encoding);
  for (const core::operation& op : operations) {
    for (const family& f : families_of(op)) declared_families.insert(f.name);
    for (const std::string name : {"sequential", "tree", "linear", "cumsum", "optimized", "reference"}) {
      if (!is_own_algorithm(name, op)) continue;
      if (name == "optimized" && type > core::dtype::f32) continue;
      // Costly, and the same code except for the rounding.
      if (name == "reference" && type > core::dtype::f32) continue;
      const auto limit = reference::accuracy_class_named(name).value_or(
          name == "optimized" ? reference::accuracy_class::tree : reference::accuracy_class::uniform);
      run_options o = options(1);
      o.long_lengths = name != "reference";
      for (check_result r : run_properties(**make_builtin(name), op, type, o)) {
        // With another seed, the few cases of a property may all tell nothing.
        if (r.checked->decides_class && r.verdict() == status::uninformative)
          r = run_property(*r.checked, **make_builtin(name), op, type, options(12));
        if (r.verdict() == status::failed) FAIL_CHECK(reproduction(name, r));
        if (r.verdict() == status::passed) all.properties.insert(r.checked->name);
        for (const auto& [f, cases] : r.families) all.families.insert(f);
        if (!r.checked->decides_class) continue;
        INFO(name << " " << op.name << " " << core::name_of(type));
        CHECK(r.verdict() == status::passed);
        REQUIRE(r.explaining_class());
        CHECK(r.accuracy_class().has_value() == reference::has_classes(op));
        CHECK(r.share_of_law().has_value() != reference::has_classes(op));
        if (r.accuracy_class()) CHECK(*r.accuracy_class() <= limit);
      }
    }
  }
  for (const property& p : properties::properties()) {
    if (p.concerns) continue;  // builtins may all be outside its concern: see no_property_is_idle
    if (!is_checked_for_any(p, operations, make_builtin("sequential").value()->describe())) continue;
    INFO("property " << p.name << " was executed and informative for some builtin");
    CHECK((all.properties.contains(p.name) || is_informative(p, operations, type)));
  }
  for (const std::string& f : declared_families) {
    INFO("family " << f << " gave an informative case");
    CHECK(all.families.contains(f));
  }
}

void check_families(const std::string& encoding) {
  const auto under_test = make_builtin("reference").value();
  for (const core::operation& op : operations_of(encoding)) {
    const check_result r = run_property(truth_property(op), *under_test, op, core::dtype::f32, options(8));
    CHECK(r.verdict() == status::passed);
    for (const family& f : families_of(op)) {
      INFO(op.name << " " << f.name);
      CHECK(r.families.contains(f.name));
    }
  }
}

}  // namespace

#define ASSAY_ENCODING_IN(name, type)                                                         \
  TEST_CASE("properties/controls/none_fails_" #type "/" #name, "[property][gate]") {          \
    check_controls(#name, core::dtype::type);                                                 \
  }                                                                                           \
  TEST_CASE("properties/builtins/pass_in_their_class_" #type "/" #name, "[property][gate]") { \
    check_builtins(#name, core::dtype::type);                                                 \
  }
#define ASSAY_ENCODING(name)                                                                        \
  ASSAY_ENCODING_IN(name, f64)                                                                      \
  ASSAY_ENCODING_IN(name, f32)                                                                      \
  ASSAY_ENCODING_IN(name, f16)                                                                      \
  ASSAY_ENCODING_IN(name, bf16)                                                                     \
  TEST_CASE("properties/families/all_are_executed_by_the_value_check/" #name, "[property][gate]") { \
    check_families(#name);                                                                          \
  }
#include "assay_encodings.inc"
#undef ASSAY_ENCODING

// This test runs on demand and takes some minutes: properties_test "[soak]". At least 10^6 elements go through each
// control and through the optimized code, in every dtype that they support. A control that has had them is skipped, so
// that controls with few cases in their domain get more.
TEST_CASE("properties/controls/soak_of_1000000_elements", "[.soak]") {
  std::vector<named> all;
  for (const encoding_tests& tests : all_encoding_tests())
    for (named& control : controls_of(tests)) all.push_back(std::move(control));
  all.push_back({"optimized", make_builtin("optimized").value()});
  std::map<std::string, std::size_t> elements, cases;
  const auto least = [&] {
    std::size_t fewest = static_cast<std::size_t>(-1);
    for (const named& control : all) fewest = std::min(fewest, elements[control.name]);
    return fewest;
  };
  constexpr std::size_t enough = 1'000'000;
  for (std::uint64_t k = 0; least() < enough; ++k)
    for (const core::operation& op : reference::operations())
      for (const core::dtype type : core::floating_dtypes)
        for (const family& f : families_of(op)) {
          const lengths range = k % 4 == 3 ? lengths::around_blocks : lengths::short_ones;
          const test_case c = make_case({&op, type, f.name, seed + k, {range}}, f);
          for (const named& control : all) {
            const description& about = control.under_test->describe();
            if (elements[control.name] >= enough) continue;
            if (!about.offers(op.name, type) || !within_domain(about, c)) continue;
            const call_result outputs = control.under_test->evaluate(c.call);
            REQUIRE(outputs);
            const value_report report = judge(*expect(c.call, about.precisions_of(op, type)), *outputs);
            if (!report.passed) FAIL_CHECK(control.name << ": " << summary(c) << ": " << report.message);
            ++cases[control.name];
            for (const auto& [name, t] : *outputs) elements[control.name] += t.size();
          }
        }
  for (const named& control : all)
    fmt::print("{}: {} elements of {} cases\n", control.name, elements[control.name], cases[control.name]);
}
