// The truth accepts all calls of the gate: core::check_request accepts every planned call.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

// The options of `assay gate` with this effort.
run_options options_of_effort(run_options::usual sizes, std::uint64_t drawn) {
  const bool all = sizes == run_options::usual::all;
  run_options o;
  o.seed = drawn;
  o.cases = all ? 64 : 8;
  o.sizes = sizes;
  o.most_elements = std::size_t{1} << 22;
  return o;
}

// The cases of all properties; they share most of them.
std::map<std::string, case_key> planned_keys(const description& about, const core::operation& op, core::dtype type,
                                             const run_options& o) {
  std::map<std::string, case_key> all;
  for (const property& p : properties::properties())
    if (is_checked(p, op, about))
      for (const case_key& key : plan_of(p, about, op, type, o)) all.emplace(canonical_text(key), key);
  return all;
}

// Why a file could not hold the call, or the truth would refuse it; empty if neither is the case.
std::string what_is_wrong_with(const request& call) {
  if (const auto ok = core::check_request(call); !ok) return ok.error().message;
  for (const auto& [name, t] : call.inputs)
    for (const double x : t.values.storage())
      if (!std::isnan(x) && core::round_to(t.type, x) != x)
        return fmt::format("'{}' holds {}, no number of {}", name, x, core::name_of(t.type));
  return "";
}

// ASSAY_TEST_SCALE is the number of seeds; with ASSAY_TEST_SIZES=all, every dtype and the plans of a full run too.
const bool with_full_runs = options(1).sizes == run_options::usual::all;
const std::vector<core::dtype> planned_types =
    with_full_runs ? std::vector{core::dtype::f64, core::dtype::f32, core::dtype::f16, core::dtype::bf16}
                   : std::vector{core::dtype::f32, core::dtype::bf16};
const std::vector<run_options::usual> planned_efforts =
    with_full_runs ? std::vector{run_options::usual::some, run_options::usual::all}
                   : std::vector{run_options::usual::some};

}  // namespace

TEST_CASE("properties/plans/every_call_is_accepted", "[property][gate]") {
  const auto under_test = make_builtin("reference").value();
  const description& about = under_test->describe();
  std::size_t checked = 0;
  for (const core::operation& op : reference::operations())
    for (const core::dtype type : planned_types)
      for (std::uint64_t drawn = seed; drawn < seed + scaled(1) && about.offers(op.name, type); ++drawn)
        for (const auto sizes : planned_efforts)
          for (const auto& [text, key] : planned_keys(about, op, type, options_of_effort(sizes, drawn))) {
            INFO(text << ", seed of the run " << drawn);
            ++checked;
            if (const std::string wrong = what_is_wrong_with(make_case(key).call); !wrong.empty()) FAIL_CHECK(wrong);
          }
  CHECK(checked > 100 * reference::operations().size());
}

namespace {

// The reference, which records what is wrong with the calls that laws make.
class examined_calls final : public implementation {
 public:
  [[nodiscard]] const description& describe() const override { return right_->describe(); }
  call_result evaluate(const request& call) override {
    ++calls;
    if (const std::string what = what_is_wrong_with(call); !what.empty()) {
      if (wrong.empty()) wrong = what;
      return tl::make_unexpected(call_failure{fault::unsupported, what});
    }
    return right_->evaluate(call);
  }
  std::size_t calls = 0;
  std::string wrong;

 private:
  std::unique_ptr<implementation> right_ = make_builtin("reference").value();
};

}  // namespace

TEST_CASE("properties/plans/so_is_every_call_of_a_law", "[property][gate]") {
  examined_calls under_test;
  for (const core::operation& op : reference::operations())
    for (const core::dtype type : planned_types)
      for (const property& p : properties::properties()) {
        if (!under_test.describe().offers(op.name, type) || !is_checked(p, op, under_test.describe())) continue;
        run_options o = options(1);
        o.cases = p.calls * scaled(1);  // laws run fewer cases if one case makes many calls
        run_property(p, under_test, op, type, o);
        INFO(p.name << " of " << op.name << " in " << core::name_of(type));
        CHECK(under_test.wrong == "");
        under_test.wrong.clear();
      }
  CHECK(under_test.calls > 1000);
}
