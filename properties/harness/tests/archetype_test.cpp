// The harness alone, without any encoding of assay::properties: a catalogue with a property and a family for an
// operation of the reference, and for some operations whose axes and inputs have names of their own.
#include <catch2/catch.hpp>
#include <set>

#include "properties/harness/catalogue.hpp"
#include "properties/harness/certified_implementation.hpp"
#include "properties/harness/runner.hpp"
#include "properties/harness/sizes_together.hpp"
#include "properties/harness/tests/other_operations.hpp"
#include "properties/harness/tests/size_demands.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::properties;

namespace {

constexpr const char* operation = "t5_bias/bucket";

// No distance is negative here.
property buckets_are_not_negative() {
  property p{"not_negative", "no bucket is negative"};
  p.applies = [](const core::operation& op) { return op.name == operation; };
  p.check = [](implementation& under_test, const test_case& c) -> outcome {
    const auto out = under_test.evaluate(c.call);
    if (!out) return {status::failed, out.error().message};
    for (const double x : out->at("bucket").values.storage())
      if (x < 0) return {status::failed, "a negative bucket"};
    return {};
  };
  return p;
}

using core::axis_role;
using testing::operations_of_other_axes, testing::other_operations;

const core::operation& turn() { return other_operations().front(); }

encoding_tests tests_of_others() {
  family usual{"usual", "small numbers"};
  usual.generate = [](const core::operation& op, core::dtype type, const core::attributes&,
                      core::counter_random& random, extent size) {
    core::tensors inputs;
    for (const core::tensor_declaration& d : op.inputs) {
      core::shape shape;
      for (const std::string& axis : d.axes) shape.push_back(size.axis(axis, 2));
      std::vector<double> values(core::element_count(shape));
      for (double& x : values) x = d.own_type ? static_cast<double>(random.below(9)) : random.normal();
      inputs.emplace(d.name, core::make_tensor(d.type_in(type), shape, values));
    }
    return inputs;
  };
  family wide = usual;
  wide.name = "wide";
  wide.parts_classes = usual.parts_classes = true;
  encoding_tests tests;
  tests.name = "other";
  tests.families = {usual, wide};
  return tests;
}

// Passes, and remembers the cases.
std::vector<test_case>& seen() {
  static std::vector<test_case> all;
  return all;
}
property looks_on() {
  property p{"looks_on", "what is asked"};
  p.applies = [](const core::operation& op) { return op.name.starts_with("other/"); };
  p.check = [](implementation&, const test_case& c) -> outcome {
    seen().push_back(c);
    outcome o;
    o.value = value_report{};
    return o;
  };
  p.decides_class = true;
  return p;
}

catalogue archetype() {
  family mild{"mild", "distances 1 to 9"};
  mild.generate = [](const core::operation&, core::dtype, const core::attributes&, core::counter_random& random,
                     extent) {
    std::vector<double> distances(1 + random.below(9));
    for (double& d : distances) d = static_cast<double>(1 + random.below(9));
    return core::tensors{{"distance", core::make_tensor(core::dtype::i64, {distances.size()}, distances)}};
  };
  encoding_tests tests;
  tests.name = "t5_bias";
  tests.families = {mild};
  return {{buckets_are_not_negative(), looks_on()}, {tests, tests_of_others()}};
}

void install_archetype() {
  static const bool once = (install_catalogue(archetype), true);
  CHECK(once);
}

// A negative bucket where there are more than two.
class sometimes_negative final : public implementation {
 public:
  [[nodiscard]] const description& describe() const override { return right_.describe(); }
  call_result evaluate(const request& call) override {
    call_result out = right_.evaluate(call);
    core::tensor& bucket = out->at("bucket");
    if (bucket.size() > 2) bucket.values.storage()[0] = -1;
    return out;
  }

 private:
  certified_implementation right_;
};

}  // namespace

TEST_CASE("harness/an_archetype_is_enough", "[unit][gate]") {
  install_archetype();
  CHECK_THROWS_AS(install_catalogue(archetype), core::contract_violation);
  const core::operation& op = *reference::find_operation(operation);
  const property& p = *find_property("not_negative");
  certified_implementation right;
  CHECK(run_property(p, right, op, core::dtype::f64, {}).verdict() == status::passed);
  sometimes_negative wrong;
  const check_result r = run_property(p, wrong, op, core::dtype::f64, {});
  REQUIRE(r.found);
  CHECK(r.found->minimal.call.inputs.at("distance").size() == 3);
}

// If errors grow with a position, rows as wide as heads stand at the farthest positions of every power of two. The
// roles decide this, whatever the names of axes, input and family.
TEST_CASE("harness/sizes_positions_and_families_follow_from_roles", "[unit][gate]") {
  install_archetype();
  CHECK(mild_family_of(turn()).name == "usual");
  certified_implementation nobody;
  seen().clear();
  run_options options;
  options.sizes = run_options::usual::some;
  const check_result r = run_property(*find_property("looks_on"), nobody, turn(), core::dtype::f32, options);
  CHECK(r.verdict() == status::passed);
  std::set<double> ends;
  for (const test_case& c : seen()) {
    if (!c.key.domain.contains("where")) continue;
    const core::axis_sizes sizes = sizes_of(c);
    CHECK(is_mild(c));
    CHECK((sizes.at("R") == 1 && sizes.at("g") == 1 && sizes.at("c") == 256));
    const declared_domain inside = c.key.domain.at("where");
    for (const double x : c.call.inputs.at("where").values.storage()) CHECK((x >= inside.low && x <= inside.high));
    ends.insert(inside.high);
  }
  for (double end = 1; end < 0x1p31 - 4; end *= 2) CHECK(ends.contains(std::min(2 * end - 1, 0x1p31 - 3)));
  // Digits are reported as far as wide rows were tried.
  CHECK(r.digits().back().farthest > 0x1p31 - 20);
  // Narrow rows give no digits for any position.
  options.sizes = run_options::usual::none;
  CHECK(run_property(*find_property("looks_on"), nobody, turn(), core::dtype::f32, options).digits().empty());
}

// An encoding that declares no sizes gets all sizes that a quick run must have.
TEST_CASE("harness/usual_sizes_follow_from_roles", "[unit][gate]") {
  install_archetype();
  for (const core::operation& op : other_operations()) {
    CHECK_NOTHROW(core::check_roles(op));
    for (const std::uint64_t seed : {1, 2, 3}) CHECK(testing::not_reached(op, "looks_on", seed) == "");
  }
}

TEST_CASE("harness/operations_of_two_axes_of_tokens_or_of_none_have_sizes", "[unit][gate]") {
  install_archetype();
  for (const core::operation& op : operations_of_other_axes()) {
    INFO(op.name);
    CHECK_NOTHROW(core::check_roles(op));
    for (const std::uint64_t seed : {1, 2, 3}) CHECK(testing::not_reached(op, "looks_on", seed) == "");
    certified_implementation nobody;
    seen().clear();
    run_options options;
    options.sizes = run_options::usual::some;
    const check_result r = run_property(*find_property("looks_on"), nobody, op, core::dtype::f32, options);
    CHECK(r.verdict() == status::passed);
    REQUIRE_FALSE(seen().empty());
    // One axis is long in calls of many tokens; an operation without tokens gets no case for positions of tokens.
    const std::string tokens = core::axis_with(op, axis_role::token);
    std::size_t longest = 0;
    for (const test_case& c : seen()) {
      if (!tokens.empty()) longest = std::max(longest, sizes_of(c).at(tokens));
      CHECK(c.key.domain.empty());
    }
    CHECK((longest > 1000) == (op.name == "other/windows"));
  }
  core::operation windows = operations_of_other_axes().front();
  CHECK(core::axis_with(windows, axis_role::token) == "y");
  windows.conflict = [](const core::attributes&, const core::axis_sizes& sizes) -> std::string {
    return sizes.at("y") >= sizes.at("x") ? "" : "low windows";
  };
  CHECK(sizes_together(windows, {}, {{"R", 1}, {"y", 3}, {"x", 10}, {"c", 1}}, {{"x", 10}}) ==
        core::axis_sizes{{"R", 1}, {"y", 10}, {"x", 10}, {"c", 1}});
}

TEST_CASE("harness/the_step_before_is_along_tokens", "[unit]") {
  const core::tensor w = core::make_tensor(core::dtype::f32, {1, 2, 1, 2}, {1, 2, 3, 4});
  const core::tensors before = previous_step({&turn(), core::dtype::f32, {}}, {{"w", w}});
  CHECK(core::identical(before.at("w"), core::make_tensor(core::dtype::f32, {1, 2, 1, 2}, {0, 0, 1, 2})));
}
