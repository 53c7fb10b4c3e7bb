// Settings of an implementation, such as a block size, in addition to the settings of the operation.
#include <catch2/catch.hpp>

#include "properties/builtin.hpp"
#include "properties/diagnosis/diagnose.hpp"
#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;

namespace {

// Computes as sequential code, has a block size, and records calls that lack a setting declared by the operation.
class blocked final : public implementation {
 public:
  blocked() : answers_(make_builtin("sequential").value()), about_(answers_->describe()) {
    about_.variants = {{"block", {std::int64_t{16}, std::int64_t{32}}}};
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    calls += call.attributes.contains("block");
    for (const core::attribute_declaration& a : call.operation->attributes)
      incomplete += !call.attributes.contains(a.name);
    return answers_->evaluate(call);
  }
  std::size_t calls = 0, incomplete = 0;

 private:
  std::unique_ptr<implementation> answers_;
  description about_;
};

// Right except for views: for views of one kind it loses the sign, and it refuses views of another.
class contiguous final : public implementation {
 public:
  contiguous() : answers_(make_builtin("sequential").value()), about_(answers_->describe()) {
    about_.variants = {{strides_variant, {std::string("transposed"), std::string("sliced"), std::string("spaced")}}};
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    request plain = call;
    plain.attributes.erase(strides_variant);
    call_result outputs = answers_->evaluate(plain);
    const auto strides = call.attributes.find(strides_variant);
    if (strides == call.attributes.end()) return outputs;
    if (strides->second == core::attribute(std::string("sliced")))
      return tl::make_unexpected(call_failure{fault::unsupported, "contiguous inputs only"});
    if (strides->second == core::attribute(std::string("transposed")))
      for (auto& [name, t] : *outputs)
        for (double& x : t.values.storage()) x = -x;
    return outputs;
  }

 private:
  std::unique_ptr<implementation> answers_;
  description about_;
};

}  // namespace

TEST_CASE("properties/variants/views_that_are_read_wrongly_are_named", "[property]") {
  contiguous under_test;
  const core::operation& op = *reference::find_operation("rope/rotate");
  CHECK(run_property(*find_property("value"), under_test, op, core::dtype::f32, testing::options(4)).verdict() ==
        status::passed);
  CHECK_FALSE(is_checked(*find_property("variants"), op, under_test.describe()));
  const property& strides = *find_property("strides");
  const check_result r = run_property(strides, under_test, op, core::dtype::f32, testing::options(4));
  REQUIRE(r.verdict() == status::failed);
  const diagnosis found =
      diagnose(under_test, op, core::dtype::f32, {.failed = {{&strides, r.found->minimal}}, .seed = testing::seed});
  CHECK_FALSE(found.explained);
  CHECK_FALSE(found.facts);  // nothing else is wrong
  REQUIRE(found.of_settings.size() == 1);
  CHECK_THAT(found.of_settings[0], Catch::StartsWith("y is wrong where inputs are transposed views") &&
                                       Catch::EndsWith("; the same values are right where inputs are every second "
                                                       "element of a tensor, and where they are contiguous"));
}

TEST_CASE("properties/variants/settings_of_the_operation_stay", "[property]") {
  blocked under_test;
  const core::operation& op = *reference::find_operation("rope/rotate");
  const check_result r =
      run_property(*find_property("variants"), under_test, op, core::dtype::f32, testing::options(4));
  CHECK(r.verdict() == status::passed);
  CHECK(under_test.calls > 0);
  CHECK(under_test.incomplete == 0);
}
