// Laws about whether and how calls are answered, whatever the values are: empty axes, and repeated calls.
#include <catch2/catch.hpp>
#include <set>

#include "properties/diagnosis/diagnose.hpp"
#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

constexpr auto it_answers = std::nullopt;
using failure_of = std::function<std::optional<call_failure>(const request&, const core::axis_sizes&)>;

call_failure error(const char* message) { return {fault::error_reply, message}; }

// Right code that does not answer some calls.
class answers_some final : public implementation {
 public:
  explicit answers_some(failure_of fails) : right_(make_builtin("sequential").value()), fails_(std::move(fails)) {
    about = right_->describe();
  }
  [[nodiscard]] const description& describe() const override { return about; }
  call_result evaluate(const request& call) override {
    ++calls;
    if (const auto failure = fails_(call, core::check_request(call).value())) return tl::make_unexpected(*failure);
    return right_->evaluate(call);
  }
  description about;
  std::size_t calls = 0;

 private:
  std::unique_ptr<implementation> right_;
  failure_of fails_;
};

answers_some fails_where_empty(const std::string& axis, const call_failure& failure) {
  return answers_some([=](const request&, const core::axis_sizes& sizes) {
    return sizes.at(axis) == 0 ? std::optional(failure) : it_answers;
  });
}

bool has_empty(const core::axis_sizes& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](const auto& axis) { return axis.second == 0; });
}

check_result result_of_empty_axes(implementation& under_test, const std::string& operation) {
  return run_property(*find_property("empty_axes"), under_test, *reference::find_operation(operation), core::dtype::f32,
                      options(8));
}

std::set<std::string> axes_of(const check_result& r) {
  std::set<std::string> axes;
  for (const refusal& refused : r.refused) axes.insert(refused.axis);
  return axes;
}

// An answer that changes from call to call by a factor.
class wavers final : public implementation {
 public:
  wavers(double first, double then, bool deterministic)
      : right_(make_builtin("optimized").value()), first_(first), then_(then), about_(right_->describe()) {
    about_.deterministic = deterministic;
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    call_result outputs = right_->evaluate(call);
    const double factor = ++calls_ % 2 == 1 ? first_ : then_;
    for (auto& [name, t] : *outputs)
      for (double& x : t.values.storage()) x = core::round_to(t.type, factor * x);
    return outputs;
  }

 private:
  std::unique_ptr<implementation> right_;
  double first_, then_;
  description about_;
  std::size_t calls_ = 0;
};

status status_of_repeat(double first, double then, bool deterministic) {
  wavers under_test(first, then, deterministic);
  const core::operation& op = *reference::find_operation("rope/rotate");
  // With an odd seed, the same call follows at once.
  const test_case c = make_case({&op, core::dtype::f32, "mild", 5, extent({{"d", 4}, {"n", 3}})});
  return find_property("repeat")->check(under_test, c).verdict;
}

}  // namespace

TEST_CASE("properties/empty_axes/every_axis_of_every_operation_is_asked_in_one_case") {
  for (const core::operation& op : reference::operations()) {
    const std::set<std::string> axes = core::free_axes(op);
    if (axes.empty() || find_family(op, "mild") == nullptr) continue;
    for (std::uint64_t k = 0; k < 8; ++k) {
      std::set<std::string> empty_axes;
      answers_some watched([&](const request&, const core::axis_sizes& sizes) -> std::optional<call_failure> {
        for (const auto& [axis, size] : sizes)
          if (size == 0) empty_axes.insert(axis);
        return it_answers;
      });
      // d = 0 has no room for given frequencies, and positions without an axis turn nothing; every other axis may be
      // empty alone.
      std::set<std::string> expected = axes;
      if (axes.contains("r") && op.input("x") != nullptr) expected.erase("d");
      const test_case c = make_case(key_for(watched.about, op, core::dtype::f32, "mild", seed + k, {}));
      if (op.forward_name() == "rope_axes/rotate") {
        expected.erase("a");
        // Without sections, d = 0 has equal shares of no pairs; it is a call only if all pairs could be shared equally.
        const core::axis_sizes sizes = sizes_of(c);
        if (sizes.at("d") / 2 % sizes.at("a") != 0) expected.erase("d");
      }
      // Queries behind a cache need a key each, a table needs rows, and a grid needs tokens.
      for (const std::string& axis : axes) {
        core::axis_sizes sizes = sizes_of(c);
        sizes[axis] = 0;
        const auto settings = core::completed(op, c.call.attributes);
        const core::axis_role role = core::role_of(op, axis);
        const bool holds_blocks =
            role == core::axis_role::width && (axes.contains("O") || (axes.contains("b") && axes.contains("c")));
        const bool may_need_one = role == core::axis_role::key || role == core::axis_role::parameter ||
                                  role == core::axis_role::token || holds_blocks;
        if (may_need_one && op.conflict != nullptr && !op.conflict(settings, sizes).empty()) expected.erase(axis);
        // The standard settings need a width: for phases of its features, or for a plane in them.
        const auto standard = core::completed(op, {});
        if (role == core::axis_role::width && op.conflict != nullptr && op.conflict(standard, sizes_of(c)).empty() &&
            !op.conflict(standard, sizes).empty())
          expected.erase(axis);
      }
      if (op.forward_name() == "comrope/rotate") expected.insert("a");  // no axis is needed if angles are linear
      for (const core::tensor_declaration& d : op.inputs) expected.erase(d.index_into);  // the rows of a table
      if (!core::check_request(c.call) || has_empty(sizes_of(c))) continue;
      INFO(summary(c));
      CHECK(find_property("empty_axes")->check(watched, c).verdict != status::failed);
      CHECK(empty_axes == expected);
    }
  }
}

TEST_CASE("properties/empty_axes/an_error_is_a_refusal_and_fails_nothing") {
  answers_some refuses_no_tokens = fails_where_empty("n", error("no tokens"));
  const check_result some = result_of_empty_axes(refuses_no_tokens, "heinsen/scan");
  CHECK(some.verdict() == status::passed);  // B = 0 and d = 0 are right
  REQUIRE(some.refused.size() == 1);
  CHECK(some.refused.front().axis == "n");
  CHECK(some.refused.front().message == "no tokens");
  CHECK(some.refused.front().settings.empty());

  answers_some refuses_all_empty([](const request&, const core::axis_sizes& sizes) {
    return has_empty(sizes) ? std::optional(error("cannot reshape")) : it_answers;
  });
  const check_result none = result_of_empty_axes(refuses_all_empty, "heinsen/scan");
  CHECK(none.verdict() == status::unsupported);
  CHECK(axes_of(none) == std::set<std::string>{"B", "d", "n"});
}

TEST_CASE("properties/empty_axes/a_refusal_with_one_setting_alone_says_which") {
  answers_some under_test([](const request& call, const core::axis_sizes& sizes) {
    const bool divides = call.attributes.at("scale") != core::attribute(std::string("one"));
    return sizes.at("d") == 0 && divides ? std::optional(error("0 ** -0.5")) : it_answers;
  });
  const check_result r = result_of_empty_axes(under_test, "attention/output");
  CHECK(r.verdict() == status::passed);
  REQUIRE(axes_of(r) == std::set<std::string>{"d"});
  CHECK(r.refused.front().settings.find("scale = ") != std::string::npos);
}

TEST_CASE("properties/empty_axes/what_is_no_refusal_fails") {
  answers_some promised = fails_where_empty("n", error("no tokens"));
  promised.about.takes_empty = {"heinsen/scan"};
  CHECK(result_of_empty_axes(promised, "heinsen/scan").verdict() == status::failed);
  // The same call with elements is not answered either: so the axis is not the cause.
  answers_some always([](const request&, const core::axis_sizes&) { return std::optional(error("no device")); });
  CHECK(result_of_empty_axes(always, "heinsen/scan").verdict() == status::failed);
  for (const fault f : {fault::wrong_shape, fault::missing_output, fault::crashed, fault::timed_out}) {
    answers_some broken = fails_where_empty("n", {f, "broken"});
    const check_result r = result_of_empty_axes(broken, "heinsen/scan");
    INFO(kind_of(f));
    REQUIRE(r.verdict() == status::failed);
    CHECK(r.found->shown.failure->kind == f);
    CHECK(r.found->shown.message.starts_with("n = 0: "));
  }
}

TEST_CASE("properties/empty_axes/the_other_axes_have_declared_sizes") {
  const core::operation& op = *reference::find_operation("rope/rotate");
  std::size_t outside = 0;
  answers_some even([&](const request&, const core::axis_sizes& sizes) -> std::optional<call_failure> {
    outside += sizes.at("d") % 2;
    return sizes.at("d") == 0 ? std::optional(error("not enough values to unpack")) : it_answers;
  });
  even.about.sizes[op.name]["d"].multiple_of = 2;
  CHECK(axes_of(result_of_empty_axes(even, op.name)) == std::set<std::string>{"d"});
  CHECK(outside == 0);
}

TEST_CASE("properties/repeat/compares_two_answers_and_not_with_the_truth") {
  CHECK(status_of_repeat(1.0, 1.0, true) == status::passed);
  // Wrong, but the same each time: this law does not test that.
  CHECK(status_of_repeat(1.5, 1.5, true) == status::passed);
  CHECK(status_of_repeat(1.5, 1.5, false) == status::passed);
  CHECK(status_of_repeat(1.5, 1.0, true) == status::failed);
  CHECK(status_of_repeat(1.5, 1.0, false) == status::failed);
  // The bits differ, but the answer is right each time.
  CHECK(status_of_repeat(1.0, 1.0 + 0x1p-23, true) == status::failed);
  CHECK(status_of_repeat(1.0, 1.0 + 0x1p-23, false) == status::passed);
}

TEST_CASE("properties/diagnosis/the_sizes_with_which_calls_are_not_answered_are_said") {
  const core::operation& op = *reference::find_operation("rope/rotate");
  using is_refused = std::function<bool(const core::axis_sizes&)>;
  const auto said_of = [&](const is_refused& refuses, core::axis_sizes sizes) {
    answers_some under_test([&](const request&, const core::axis_sizes& called) {
      return refuses(called) ? std::optional(error("cannot reshape")) : it_answers;
    });
    const test_case c =
        make_case({&op, core::dtype::f32, "mild", seed, extent(std::move(sizes)), {{"rotary", {std::int64_t{0}}}}});
    const diagnosis d = diagnose(under_test, op, core::dtype::f32, {{{&truth_property(op), c}}, seed});
    return d.unanswered.value_or("");
  };
  CHECK(said_of([](const auto& sizes) { return sizes.at("d") < 4; }, {{"d", 3}}) == "d is less than 4");
  CHECK(said_of([](const auto& sizes) { return sizes.at("d") < 2; }, {{"d", 1}}) == "d = 1");
  CHECK(said_of([](const auto& sizes) { return sizes.at("d") > 48; }, {{"d", 64}}) == "d is more than 48");
  CHECK(said_of([](const auto& sizes) { return sizes.at("d") % 2 != 0; }, {{"d", 5}}) == "d is odd");
  CHECK(said_of([](const auto& sizes) { return sizes.at("d") % 8 != 0; }, {{"d", 6}}) == "d is no multiple of 8");
  CHECK(said_of([](const auto& sizes) { return sizes.at("d") / 2 == 1; }, {{"d", 2}}) ==
        "d is more than 1 and d is less than 4");
  CHECK(said_of([](const auto& sizes) { return sizes.at("n") > 33; }, {{"n", 40}}) == "n is more than 33");
  // For conditions on two axes, or for all calls: no size is named.
  CHECK(
      said_of([](const auto& sizes) { return sizes.at("d") < 4 && sizes.at("n") < 4; }, {{"d", 3}, {"n", 2}}).empty());
  CHECK(said_of([](const auto&) { return true; }, {{"d", 3}}).empty());
  CHECK(said_of([](const auto&) { return false; }, {{"d", 3}}).empty());
}
