// Tests which failed checks have no cause of their own.
#include "properties/diagnosis/consequences.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "properties/tests/changed.hpp"

using namespace assay;
using namespace assay::properties;

namespace {

// Wrong by a quarter everywhere. If it keeps outputs, it repeats those of the first call whose first input has the same
// shape.
class wrong_everywhere final : public implementation {
 public:
  explicit wrong_everywhere(bool keeps) : keeps_(keeps) {}
  [[nodiscard]] const description& describe() const override { return wrong_.describe(); }
  call_result evaluate(const request& call) override {
    call_result outputs = wrong_.evaluate(call);
    if (!keeps_ || !outputs) return outputs;
    return kept_.emplace(core::to_string(call.inputs.begin()->second.shape()), *outputs).first->second;
  }

 private:
  testing::changed wrong_{testing::wrong_where([](const core::axis_sizes&) { return true; })};
  bool keeps_;
  std::map<std::string, core::tensors> kept_{};
};

bool is_consequence(const char* property_name, bool keeps) {
  const property& p = *find_property(property_name);
  const core::operation& op = *reference::find_operation("heinsen/scan");
  const test_case c = make_case({&op, core::dtype::f32, "mild", testing::probe_seed, extent({{"n", 5}, {"d", 3}})});
  wrong_everywhere under_test(keeps);
  REQUIRE(p.check(under_test, c).verdict == status::failed);
  const fresh_start fresh = [keeps] { return std::make_unique<wrong_everywhere>(keeps); };
  return fails_by_wrong_values_alone(p, c, under_test, fresh);
}

}  // namespace

TEST_CASE("consequences: a law fails because values are wrong") { CHECK(is_consequence("sandwich", false)); }

TEST_CASE("consequences: what calls before change is a reason of its own") {
  CHECK(is_consequence("recomputation", false));
  CHECK_FALSE(is_consequence("recomputation", true));
}

TEST_CASE("consequences: a check that needs no wrong value stands alone") {
  // Right values, but different bits in each call.
  class restless final : public implementation {
   public:
    [[nodiscard]] const description& describe() const override { return about_; }
    call_result evaluate(const request& call) override {
      call_result outputs = right_->evaluate(call);
      if (outputs && ++calls_ % 2 == 0)
        for (auto& [name, t] : *outputs)
          for (double& x : t.values.storage()) x = core::round_to(t.type, x * (1.0 + 0x1p-23));
      return outputs;
    }

   private:
    std::unique_ptr<implementation> right_ = make_builtin("sequential").value();
    description about_ = [this] {
      description d = right_->describe();
      d.deterministic = true;
      return d;
    }();
    std::size_t calls_ = 0;
  };
  const property& p = *find_property("repeat");
  const core::operation& op = *reference::find_operation("heinsen/scan");
  const test_case c = make_case({&op, core::dtype::f32, "mild", testing::probe_seed, extent({{"n", 5}, {"d", 3}})});
  restless under_test;
  REQUIRE(p.check(under_test, c).verdict == status::failed);
  CHECK_FALSE(fails_by_wrong_values_alone(p, c, under_test, [] { return std::make_unique<restless>(); }));
}

TEST_CASE("recomputation: what is wrong by itself is not said to be so after a call") {
  // Right, except that the outputs of the first call of the same shapes are repeated.
  class keeping final : public implementation {
   public:
    [[nodiscard]] const description& describe() const override { return right_->describe(); }
    call_result evaluate(const request& call) override {
      call_result outputs = right_->evaluate(call);
      if (!outputs) return outputs;
      return kept_.emplace(core::to_string(call.inputs.begin()->second.shape()), *outputs).first->second;
    }

   private:
    std::unique_ptr<implementation> right_ = make_builtin("sequential").value();
    std::map<std::string, core::tensors> kept_{};
  };
  const property& p = *find_property("recomputation");
  const core::operation& op = *reference::find_operation("heinsen/scan");
  const test_case c = make_case({&op, core::dtype::f32, "mild", testing::probe_seed, extent({{"n", 5}, {"d", 3}})});
  keeping keeps;
  const outcome stale = p.check(keeps, c);
  REQUIRE(stale.verdict == status::failed);
  CHECK_THAT(stale.message, Catch::StartsWith("after a call of the same shapes and first elements: "));
  // Wrong for all calls except the drawn case, whatever was asked before.
  const core::tensor drawn = c.call.inputs.at("h");
  testing::changed elsewhere([drawn](const request& call, core::tensors& outputs) {
    if (!core::identical(call.inputs.at("h"), drawn))
      for (double& x : outputs.at("s").values.storage()) x += 0.25;
  });
  const outcome wrong = p.check(elsewhere, c);
  REQUIRE(wrong.verdict == status::failed);
  CHECK(wrong.message.find("after a call") == std::string::npos);
}
