// The optimized implementation under every property, over cases that RapidCheck draws.
#include <set>

#include "properties/tests/drawn_property.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

TEST_CASE("properties/drawn/optimized_passes", "[property][gate]") {
  const auto under_test = make_builtin("optimized").value();
  std::size_t checked = 0;
  for (const core::operation& op : reference::operations())
    for (const property& p : properties::properties()) {
      if (!under_test->describe().offers(op.name, core::dtype::f32)) continue;
      if (!is_checked(p, op, under_test->describe()) || families_of(p, op).empty()) continue;
      check_drawn(p, *under_test, op, core::dtype::f32, static_cast<int>(scaled(12)));
      ++checked;
    }
  CHECK(checked > reference::operations().size());
}

TEST_CASE("properties/keys/make_the_same_case_again", "[unit][gate]") {
  std::set<std::string> texts;
  for (const core::operation& op : reference::operations())
    for (const family& f : families_of(op))
      for (const lengths range : {lengths::short_ones, lengths::around_blocks, lengths::exactly})
        for (const std::uint64_t drawn : {std::uint64_t{1}, ~std::uint64_t{0}}) {
          const case_key key{&op, core::dtype::f32, f.name, drawn, {range, range == lengths::exactly ? 5u : 0u}};
          const test_case c = make_case(key), again = make_case(c.key);
          INFO(canonical_text(key));
          REQUIRE(c.key == key);
          REQUIRE(sizes_of(c) == core::check_request(c.call).value());
          REQUIRE(c.call.attributes == again.call.attributes);
          REQUIRE(c.call.inputs.size() == again.call.inputs.size());
          for (const auto& [name, t] : c.call.inputs) REQUIRE(core::identical(t, again.call.inputs.at(name)));
          REQUIRE(texts.insert(canonical_text(key)).second);
        }
}

TEST_CASE("properties/families/hold_what_they_are_named_after", "[unit][gate]") {
  const auto holds = [](const core::operation& op, const family& f, bool (*special)(double)) {
    for (std::uint64_t k = 0; k < 64; ++k)
      for (const auto& [name, t] : make_case({&op, core::dtype::f32, f.name, k}, f).call.inputs)
        if (std::any_of(t.values.begin(), t.values.end(), special)) return true;
    return false;
  };
  for (const core::operation& op : reference::operations())
    for (const family& f : families_of(op)) {
      if (op.inputs.empty()) continue;  // alibi/slopes, whose cases are settings alone
      INFO(op.name << " " << f.name);
      if (f.name.starts_with("infinite_")) CHECK(holds(op, f, [](double x) { return std::isinf(x); }));
      if (f.name.starts_with("nan_")) CHECK(holds(op, f, [](double x) { return std::isnan(x); }));
    }
}

// Every operation has one mild family, which draws a case of any of its sizes; other families are not mild.
TEST_CASE("properties/families/one_of_every_operation_is_mild", "[unit][gate]") {
  for (const core::operation& op : reference::operations()) {
    INFO(op.name);
    const std::vector<family> all = families_of(op);
    CHECK(std::count_if(all.begin(), all.end(), [](const family& f) { return f.is_mild; }) == 1);
    CHECK(is_mild(make_case({&op, core::dtype::f32, mild_family_of(op).name, 1})));
  }
}

// Sizes are read from the call: a smaller case has its own sizes.
TEST_CASE("properties/cases/smaller_ones_have_their_own_sizes", "[unit][gate]") {
  for (const core::operation& op : reference::operations()) {
    const test_case c = make_case({&op, core::dtype::f32, mild_family_of(op).name, 5, lengths::around_blocks});
    for (const test_case& smaller : simpler_cases(c)) {
      INFO(summary(smaller));
      REQUIRE(sizes_of(smaller) == core::check_request(smaller.call).value());
    }
  }
}

TEST_CASE("properties/keys/settings_are_part_of_a_key", "[unit][gate]") {
  const core::operation& op = *reference::find_operation("rope/rotate");
  case_key key{&op, core::dtype::f32, "mild", 3};
  const std::string all = canonical_text(key);
  key.settings = {{"layout", {std::string("half_split")}}};
  CHECK(canonical_text(key) != all);
  for (std::uint64_t k = 0; k < 20; ++k) {
    key.seed = k;
    CHECK(std::get<std::string>(make_case(key).call.attributes.at("layout")) == "half_split");
  }
}

TEST_CASE("properties/plans/are_the_same_for_the_same_options", "[unit][gate]") {
  const auto under_test = make_builtin("optimized").value();
  const core::operation& op = *reference::find_operation("heinsen/scan");
  const property& p = *find_property("value");
  run_options o = options(4);
  const auto plan = plan_of(p, under_test->describe(), op, core::dtype::f32, o);
  CHECK(plan == plan_of(p, under_test->describe(), op, core::dtype::f32, o));
  // A filter changes no other case.
  o.sizes = run_options::usual::some;
  const auto with_sizes = plan_of(p, under_test->describe(), op, core::dtype::f32, o);
  o.families = {"mild", "one_sign"};
  for (const case_key& key : plan_of(p, under_test->describe(), op, core::dtype::f32, o))
    if (key.family == "one_sign") CHECK(std::find(with_sizes.begin(), with_sizes.end(), key) != with_sizes.end());
  o.sizes = run_options::usual::none;
  o.families = {"mild"};
  for (const case_key& key : plan_of(p, under_test->describe(), op, core::dtype::f32, o))
    CHECK(std::find(plan.begin(), plan.end(), key) != plan.end());
  o.seed += 1;
  CHECK(plan.front().seed != plan_of(p, under_test->describe(), op, core::dtype::f32, o).front().seed);
}

namespace {

// Frequencies that are wrong by a factor: at base 0, outside the domain, even the right program gives infinities.
class wrong_frequencies final : public implementation {
 public:
  [[nodiscard]] const description& describe() const override { return right_->describe(); }
  call_result evaluate(const request& call) override {
    call_result out = right_->evaluate(call);
    if (out)
      for (auto& [name, t] : *out)
        for (double& x : t.values.storage()) x = core::round_to(t.type, 1.01 * x);
    return out;
  }

 private:
  std::unique_ptr<implementation> right_ = make_builtin("sequential").value();
};

// Attention that gives NaN if a query sees some keys and not others, and, by convention, if it sees none.
class nan_beside_masks final : public implementation {
 public:
  [[nodiscard]] const description& describe() const override { return right_->describe(); }
  call_result evaluate(const request& call) override {
    call_result out = right_->evaluate(call);
    if (!out || call.operation->name != "attention/output") return out;
    const core::tensor& bias = call.inputs.at("bias");
    core::tensor& o = out->at("o");
    const std::size_t keys = bias.shape()[2], width = o.shape()[3], rows = bias.size() / std::max<std::size_t>(keys, 1);
    for (std::size_t i = 0; i < o.size(); ++i)
      for (std::size_t j = 0; j < keys; ++j)
        if (std::isinf(bias.values.storage()[i / width % rows * keys + j]))
          o.values.storage()[i] = std::numeric_limits<double>::quiet_NaN();
    return out;
  }

 private:
  std::unique_ptr<implementation> right_ = make_builtin("sequential").value();
};

}  // namespace

TEST_CASE("properties/shrinking/no_failure_becomes_a_convention", "[property][gate]") {
  nan_beside_masks wrong;
  const core::operation& op = *reference::find_operation("attention/output");
  run_options o = options(4);
  o.families = {"masked_inside", "causal"};
  const check_result r = run_property(*find_property("value"), wrong, op, core::dtype::f32, o);
  REQUIRE(r.verdict() == status::failed);
  const request& smallest = r.found->minimal.call;
  INFO(summary(r.found->minimal));
  const encoding_tests& tests = *encoding_tests_of(op);
  REQUIRE(tests.rests_on_convention);
  CHECK_FALSE(tests.rests_on_convention(smallest));
  const auto& bias = smallest.inputs.at("bias").values;
  CHECK(std::count(bias.begin(), bias.end(), -std::numeric_limits<double>::infinity()) > 0);
  CHECK(smallest.inputs.at("bias").size() <= 4);
}

TEST_CASE("properties/shrinking/stays_in_the_domain_and_in_the_failure", "[property][gate]") {
  wrong_frequencies wrong;
  const auto right = make_builtin("reference").value();
  std::size_t found = 0;
  for (const char* name :
       {"rope/frequencies", "sinusoidal/frequencies", "rope/rotate", "alibi/slopes", "heinsen/scan"}) {
    const core::operation& op = *reference::find_operation(name);
    const property& p = truth_property(op);
    const check_result r = run_property(p, wrong, op, core::dtype::f32, options(4));
    INFO(name);
    REQUIRE(r.found);
    const counterexample& c = *r.found;
    INFO(summary(c.minimal));
    CHECK(core::check_domain(op, c.minimal.call.inputs));
    CHECK(p.check(wrong, c.minimal).verdict == status::failed);
    CHECK(p.check(*right, c.minimal).verdict != status::failed);
    CHECK(c.reference_passes);
    REQUIRE(c.shown.value);
    CHECK(std::isfinite(c.shown.value->worst.expected));
    CHECK(std::isfinite(c.shown.value->worst.actual));
    ++found;
  }
  CHECK(found == 5);
}
