// The gate gated: every mutant and anti-oracle fails, no control does, and nothing declared goes unused.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "properties/builtin.hpp"
#include "properties/support/runner.hpp"
#include "properties/tests/effort.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::properties;

namespace {

constexpr std::uint64_t seed = 20240301;

run_options options(std::size_t cases) {
  run_options o;
  o.seed = seed;
  o.cases = scaled(cases);
  o.long_lengths = false;
  return o;
}

// The property that compares an operation with the truth.
const property& truth_property(const core::operation& op) {
  const core::derivative kind = op.kind();
  return *find_property(kind == core::derivative::vjp ? "vjp" : kind == core::derivative::jvp ? "jvp" : "value");
}

std::string reproduction(const std::string& name, const check_result& r) {
  return fmt::format("{} {} {} {}: {}\n  {}\n  assay gate --candidate builtin:{} --operation {} --dtype {} --seed {}",
                     name, r.checked->name, r.operation->name, core::name_of(r.type),
                     r.found ? r.found->shown.message : "", r.found ? summary(r.found->minimal) : "", name,
                     r.operation->name, core::name_of(r.type), seed);
}

std::vector<check_result> run_all(const std::string& name, core::dtype type, const run_options& o) {
  auto under_test = make_builtin(name);
  REQUIRE(under_test);
  std::vector<check_result> all;
  for (const core::operation& op : reference::operations())
    for (check_result& r : run_properties(**under_test, op, type, o)) all.push_back(std::move(r));
  REQUIRE_FALSE(all.empty());
  return all;
}

}  // namespace

TEST_CASE("heinsen/mutants/every_mutant_is_killed", "[property][gate]") {
  std::set<std::string> killers, families;
  std::size_t mutants = 0;
  std::string table = "\nmutant: killed by property/operation (tokens of the smallest case)\n";
  for (const encoding_tests& tests : all_encoding_tests())
    for (const variant& m : tests.mutants) {
      ++mutants;
      std::string line;
      for (const check_result& r : run_all(m.id, core::dtype::f32, options(6))) {
        if (r.verdict() != status::failed) continue;
        REQUIRE(r.found);
        // The shrunk case still fails, by itself, in a fresh instance.
        CHECK(r.checked->check(*make_builtin(m.id).value(), r.found->minimal).verdict == status::failed);
        killers.insert(r.checked->name);
        line +=
            fmt::format(" {}/{}({})", r.checked->name, r.operation->name.substr(8), sizes_of(r.found->minimal).at("n"));
      }
      INFO(m.id << " modelled on " << m.models);
      CHECK_FALSE(line.empty());
      table += m.id + ":" + line + "\n";
    }
  CHECK(mutants >= 40);
  fmt::print("{}", table);
}

TEST_CASE("heinsen/mutants/each_value_property_kills", "[property][gate]") {
  // A property that kills nothing proves nothing: each declared one must kill some mutant or anti-oracle.
  std::set<std::string> killers;
  for (const char* name : {"mutant/ignores_initial_state", "mutant/drops_nan", "mutant/global_shift",
                           "mutant/naive_log_add_exp", "mutant/first_row_state", "mutant/final_state_detached",
                           "mutant/tangent_without_decay", "mutant/decay_sum_restarts"})
    for (const check_result& r : run_all(name, core::dtype::f64, options(8)))
      if (r.verdict() == status::failed) killers.insert(r.checked->name);
  // `repeat` needs an implementation with a memory: see `unsteady` below.
  for (const property& p : properties::properties())
    if (p.name != "repeat") {
      INFO(p.name);
      CHECK(killers.contains(p.name));
    }
}

namespace {

// Right the first time, one ulp off the second: state between calls.
class unsteady final : public implementation {
 public:
  unsteady() : inner_(make_builtin("sequential").value()) {}
  [[nodiscard]] const description& describe() const override { return inner_->describe(); }
  call_result evaluate(const request& call) override {
    call_result out = inner_->evaluate(call);
    if (out && ++calls_ % 2 == 0)
      for (auto& [name, t] : *out)
        for (double& x : t.values.storage()) x = core::next_above(t.type, x);
    return out;
  }

 private:
  std::unique_ptr<implementation> inner_;
  std::size_t calls_ = 0;
};

}  // namespace

TEST_CASE("heinsen/mutants/repeat_kills_memory_between_calls", "[property][gate]") {
  unsteady under_test;
  const core::operation& op = *reference::find_operation("heinsen/scan");
  CHECK(run_property(*find_property("repeat"), under_test, op, core::dtype::f32, options(4)).verdict() ==
        status::failed);
}

TEST_CASE("heinsen/anti_oracles/every_value_check_refuses_them", "[property][gate]") {
  for (const variant& anti : anti_oracles()) {
    const auto under_test = anti.make();
    for (const core::operation& op : reference::operations())
      for (const core::dtype type : core::floating_dtypes) {
        const property& p = truth_property(op);
        const check_result r = run_property(p, *under_test, op, type, options(2));
        INFO(anti.id << " " << op.name << " " << core::name_of(type));
        CHECK(r.verdict() == status::failed);
      }
  }
}

TEST_CASE("heinsen/controls/no_control_fails", "[property][gate]") {
  std::size_t cases = 0, controls = 0;
  for (const encoding_tests& tests : all_encoding_tests())
    for (const variant& control : tests.controls) {
      ++controls;
      for (const core::dtype type : {core::dtype::f32, core::dtype::f64})
        for (const check_result& r : run_all(control.id, type, options(4))) {
          cases += r.run();
          if (r.verdict() == status::failed) FAIL_CHECK(reproduction(control.id, r));
        }
    }
  CHECK(controls >= 3);
  WARN(controls << " controls, " << cases << " cases");
}

// Each algorithm in each dtype is right, and never worse than the class that bears its name. By dtype: the
// cases, and so their truths, are those of the other algorithms.
void check_builtins(core::dtype type) {
  for (const std::string name : {"sequential", "tree", "linear", "cumsum", "optimized", "reference"}) {
    if (name == "optimized" && type > core::dtype::f32) continue;
    const auto limit = reference::accuracy_class_named(name).value_or(
        name == "optimized" ? reference::accuracy_class::tree : reference::accuracy_class::uniform);
    run_options o = options(1);
    o.long_lengths = name != "reference";
    for (const check_result& r : run_all(name, type, o)) {
      if (r.verdict() == status::failed) FAIL_CHECK(reproduction(name, r));
      if (!r.checked->decides_class) continue;
      INFO(name << " " << r.operation->name << " " << core::name_of(type));
      CHECK(r.verdict() == status::passed);
      REQUIRE(r.accuracy_class());
      CHECK(*r.accuracy_class() <= limit);
    }
  }
}

TEST_CASE("heinsen/builtins/pass_in_their_class_f64", "[property][gate]") { check_builtins(core::dtype::f64); }
TEST_CASE("heinsen/builtins/pass_in_their_class_f32", "[property][gate]") { check_builtins(core::dtype::f32); }
TEST_CASE("heinsen/builtins/pass_in_their_class_f16", "[property][gate]") { check_builtins(core::dtype::f16); }
TEST_CASE("heinsen/builtins/pass_in_their_class_bf16", "[property][gate]") { check_builtins(core::dtype::bf16); }

TEST_CASE("heinsen/families/all_are_executed", "[property][gate]") {
  // Every declared family gave an informative case of the value check.
  const auto under_test = make_builtin("reference").value();
  for (const core::operation& op : reference::operations()) {
    const check_result r = run_property(truth_property(op), *under_test, op, core::dtype::f32, options(8));
    CHECK(r.verdict() == status::passed);
    for (const family& f : families_of(op)) {
      INFO(op.name << " " << f.name);
      CHECK(r.families.contains(f.name));
    }
  }
}

TEST_CASE("properties/runner/same_seed_same_cases", "[property][gate]") {
  const auto under_test = make_builtin("mutant/carries_input").value();
  const core::operation& op = *reference::find_operation("heinsen/scan");
  const auto once = [&](std::uint64_t with_seed) {
    run_options o = options(4);
    o.seed = with_seed;
    return summary(run_property(*find_property("value"), *under_test, op, core::dtype::f32, o).found.value().original);
  };
  CHECK(once(1) == once(1));
  CHECK(once(1) != once(2));
}

// On demand, several minutes: properties_test "[soak]".
TEST_CASE("heinsen/controls/soak_of_100000_cases", "[.soak]") {
  // One truth serves all controls: the cases are those of the value properties alone.
  std::size_t cases = 0;
  std::vector<std::pair<std::string, std::unique_ptr<implementation>>> controls;
  for (const encoding_tests& tests : all_encoding_tests())
    for (const variant& control : tests.controls) controls.emplace_back(control.id, control.make());
  controls.emplace_back("optimized", make_builtin("optimized").value());
  for (std::uint64_t k = 0; cases < 100000; ++k)
    for (const core::operation& op : reference::operations())
      for (const core::dtype type : {core::dtype::f32, core::dtype::f64})
        for (const family& f : families_of(op)) {
          const test_case c = make_case(op, type, f, seed + k, {lengths::short_ones});
          const auto expected = expect(c.call, type);
          ++cases;
          for (const auto& [name, control] : controls) {
            if (!control->describe().operations.contains(op.name)) continue;
            const call_result outputs = control->evaluate(c.call);
            REQUIRE(outputs);
            const value_report report = judge(*expected, *outputs);
            if (!report.passed) FAIL_CHECK(name << ": " << summary(c) << ": " << report.message);
          }
        }
  WARN(controls.size() << " controls, " << cases << " cases each");
}
