// Sentences must not claim more than is true: sizes at which everything is right, state behind refusals, two settings
// at once, formats that no candidate uses, and effects of the dtype of a first call.
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <optional>

#include "properties/diagnosis/repetition.hpp"
#include "properties/laws/laws.hpp"
#include "properties/tests/changed.hpp"

using namespace assay;
using namespace assay::properties;
using testing::changed;
using testing::probe_seed;
using testing::said_at;
using testing::truth_property;
using testing::wrong_where;

namespace {

/// Right code that keeps something from earlier calls.
class remembering final : public implementation {
 public:
  /// Changes the outputs of a call by the kept state, or says why there are none.
  using change = std::function<std::optional<call_failure>(const request&, core::tensors&)>;
  explicit remembering(
      change edit, std::function<void(description&)> declare = [](description&) {})
      : right_(make_builtin("sequential").value()), edit_(std::move(edit)), about_(right_->describe()) {
    declare(about_);
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    call_result outputs = right_->evaluate(call);
    if (!outputs) return outputs;
    if (auto failure = edit_(call, *outputs)) return tl::make_unexpected(std::move(*failure));
    return outputs;
  }

 private:
  std::unique_ptr<implementation> right_;
  change edit_;
  description about_;
};

core::axis_sizes sizes_in(const request& call) { return core::check_request(call).value(); }

// Declines most sizes. Sequences shorter than the longest one so far get a state from it.
std::unique_ptr<implementation> keeps_the_longest(fault fault_of_shorter) {
  return std::make_unique<remembering>(
      [fault_of_shorter, longest = std::size_t{0}](const request& call,
                                                   core::tensors& outputs) mutable -> std::optional<call_failure> {
        const core::axis_sizes s = sizes_in(call);
        if ((7 * s.at("n") + 3 * s.at("B") + s.at("d")) % 4 != 0) return call_failure{fault::unsupported, "not these"};
        longest = std::max(longest, s.at("n"));
        if (s.at("n") == longest) return std::nullopt;
        if (fault_of_shorter == fault::error_reply) return call_failure{fault_of_shorter, "a buffer is too long"};
        for (double& x : outputs.at("s").values.storage()) x += 0.25;
        return std::nullopt;
      });
}

// Outputs rounded to the dtype of the first call; if that is not kept, to each call's own dtype.
std::unique_ptr<implementation> keeps_its_first_dtype(bool is_kept) {
  return std::make_unique<remembering>(
      [is_kept, first = std::optional<core::dtype>()](const request& call,
                                                      core::tensors& outputs) mutable -> std::optional<call_failure> {
        if (!first || !is_kept) first = call.type;
        for (auto& [name, t] : outputs)
          for (double& x : t.values.storage()) x = core::round_to(t.type, core::round_to(*first, x));
        return std::nullopt;
      },
      [](description& about) {
        about.operations["rope/rotate"] = {core::dtype::f32, core::dtype::bf16};
      });
}

// A factor that each call halves again, whatever its dtype is.
std::unique_ptr<implementation> halves_at_each_call() {
  return std::make_unique<remembering>(
      [factor = 2.0](const request&, core::tensors& outputs) mutable -> std::optional<call_failure> {
        factor /= 2;
        for (auto& [name, t] : outputs)
          for (double& x : t.values.storage()) x *= factor;
        return std::nullopt;
      },
      [](description& about) {
        about.operations["rope/rotate"] = {core::dtype::f32, core::dtype::bf16};
      });
}

std::string said_of(implementation& under_test, const test_case& shown, const fresh_start& fresh = {}) {
  const core::operation& op = *shown.call.operation;
  const diagnosis d = diagnose(under_test, op, shown.call.type, {{{&truth_property(op), shown}}, probe_seed, fresh});
  return d.explained.value_or("") + d.facts.value_or("");
}

}  // namespace

// With one key any weights give its value: an answer that knows nothing is right, but that size is not called wrong.
TEST_CASE("properties/diagnosis/sizes_at_which_all_is_right_are_not_called_wrong", "[property][gate]") {
  const auto more_keys = [](const core::axis_sizes& s) { return s.at("m") > 1; };
  const core::axis_sizes sizes{{"B", 1}, {"h", 1}, {"n", 1}, {"m", 2}, {"d", 1}, {"e", 1}};
  CHECK(said_at(wrong_where(more_keys), "attention/output", sizes) ==
        "o is wrong on mild inputs where m is more than 1");
  CHECK(said_at(wrong_where([](const auto&) { return true; }), "attention/output", sizes) ==
        "o is wrong on mild inputs of every size tried");
}

TEST_CASE("properties/diagnosis/state_is_found_behind_refusals", "[property][gate]") {
  const core::operation& op = *reference::find_operation("heinsen/scan");
  const auto sized = [&](std::size_t n) {
    return make_case({&op, core::dtype::f32, "mild", probe_seed, extent({{"B", 1}, {"n", n}, {"d", 1}})});
  };
  const test_case shown = sized(4), longer = sized(400);
  for (const auto& [fault_of_shorter, words] :
       {std::pair{fault::unsupported, "the same call gives other outputs where the candidate is started anew"},
        {fault::error_reply,
         "the same call gives outputs once and an error another time, where the candidate is started anew"}}) {
    const auto under_test = keeps_the_longest(fault_of_shorter);
    REQUIRE(under_test->evaluate(longer.call));
    REQUIRE(keeps_the_longest(fault_of_shorter)->evaluate(shown.call));
    CHECK(said_of(*under_test, shown, [kind = fault_of_shorter] { return keeps_the_longest(kind); }) ==
          std::string("state is kept between calls: ") + words);
  }
}

TEST_CASE("sinusoidal/diagnosis/two_settings_that_explain_all_together_are_said", "[property][gate]") {
  const core::operation& op = *reference::find_operation("sinusoidal/table");
  testing::with_settings under_test({{"layout", std::string("half_split")}, {"rule", std::string("tensor2tensor")}},
                                    [](description& about) {
                                      about.settings["sinusoidal/table"] = {{"layout", {std::string("interleaved")}},
                                                                            {"rule", {std::string("paper")}}};
                                      about.sizes["sinusoidal/table"]["d"] = {4, 64, 2};
                                    });
  const diagnosis d = diagnose(under_test, op, core::dtype::f32, {{}, probe_seed});
  INFO(d.facts.value_or(""));
  REQUIRE(d.explained);
  CHECK(*d.explained ==
        "asked for layout = \"interleaved\" and rule = \"paper\", behaves as layout = \"half_split\" and rule = "
        "\"tensor2tensor\"");
}

// Errors that the wide law of f16 would allow, in code that does not use f16.
TEST_CASE("properties/diagnosis/formats_that_are_not_the_candidates_own_are_not_named", "[property][gate]") {
  const changed::change off = [](const request&, core::tensors& outputs) {
    for (auto& [name, t] : outputs)
      for (std::size_t i = 0; i < t.size(); ++i)
        t.values.storage()[i] *= 1 + 0x1p-12 * std::cos(static_cast<double>(i + 1));
  };
  const std::string said = said_at(off, "heinsen/scan", {{"B", 1}, {"n", 5}, {"d", 2}});
  INFO(said);
  CHECK_THAT(said, Catch::Contains("off by up to "));
  CHECK_THAT(said, !Catch::Contains("arithmetic in"));
}

TEST_CASE("properties/dtype_order/what_the_first_dtype_leaves_behind_is_found", "[property][gate]") {
  const core::operation& op = *reference::find_operation("rope/rotate");
  const property& law = *find_property("dtype_order");
  const auto outcome_after = [&](core::dtype type, core::dtype first, bool is_kept) {
    const auto started = keeps_its_first_dtype(is_kept);
    test_case c = make_case({&op, type, "mild", probe_seed, extent({{"B", 1}, {"n", 7}, {"h", 2}, {"d", 8}})});
    c = after_dtype(started->describe(), c, first).value();
    CHECK(dtype_before(started->describe(), c) == first);
    const auto before = wrong_after_dtype(c, started->describe(), [is_kept] { return keeps_its_first_dtype(is_kept); });
    const outcome o = law.check(*started, c);
    CHECK((o.verdict == status::failed) == before.has_value());
    if (before) CHECK(*before == first);
    return o;
  };
  const outcome narrow_first = outcome_after(core::dtype::f32, core::dtype::bf16, true);
  CHECK(narrow_first.verdict == status::failed);
  CHECK_THAT(narrow_first.message, Catch::StartsWith("after a call in bf16: "));
  CHECK(outcome_after(core::dtype::bf16, core::dtype::f32, true).verdict == status::passed);
  CHECK(outcome_after(core::dtype::f32, core::dtype::bf16, false).verdict == status::passed);
  CHECK(first_dtype_words(core::dtype::f32, core::dtype::bf16) ==
        "wrong in f32 after a call in bf16: state of the first dtype is kept");
}

TEST_CASE("properties/dtype_order/state_that_any_call_changes_is_not_laid_to_a_dtype", "[property][gate]") {
  const core::operation& op = *reference::find_operation("rope/rotate");
  const test_case c =
      make_case({&op, core::dtype::f32, "mild", probe_seed, extent({{"B", 1}, {"n", 7}, {"h", 2}, {"d", 8}})});
  const description about = halves_at_each_call()->describe();
  CHECK_FALSE(wrong_after_dtype(c, about, halves_at_each_call));
  CHECK(wrong_after_itself(c, about, halves_at_each_call));
  CHECK_FALSE(wrong_after_itself(c, about, [] { return keeps_its_first_dtype(true); }));
}
