// Settings of an implementation, such as a block size, stand beside the settings of the operation.
#include <catch2/catch.hpp>

#include "properties/builtin.hpp"
#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;

namespace {

// Answers as sequential code, has a block size, and says which calls lacked a setting that the operation declares.
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

}  // namespace

TEST_CASE("properties/variants/settings_of_the_operation_stay", "[property]") {
  blocked under_test;
  const core::operation& op = *reference::find_operation("rope/rotate");
  const check_result r =
      run_property(*find_property("variants"), under_test, op, core::dtype::f32, testing::options(4));
  CHECK(r.verdict() == status::passed);
  CHECK(under_test.calls > 0);
  CHECK(under_test.incomplete == 0);
}
