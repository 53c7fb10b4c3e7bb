#include "properties/faults/recipe_variant.hpp"

namespace assay::properties {
namespace {

class joined_implementations final : public implementation {
 public:
  explicit joined_implementations(std::vector<std::unique_ptr<implementation>> parts)
      : parts_(std::move(parts)), about_(parts_.front()->describe()) {
    for (const auto& part : parts_) {
      const description& about = part->describe();
      about_.operations.insert(about.operations.begin(), about.operations.end());
      about_.domain.insert(about.domain.begin(), about.domain.end());
      about_.settings.insert(about.settings.begin(), about.settings.end());
    }
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    for (const auto& part : parts_)
      if (part->describe().offers(call.operation->name, call.type)) return part->evaluate(call);
    return tl::make_unexpected(call_failure{fault::unsupported, "no part has " + call.operation->name});
  }

 private:
  std::vector<std::unique_ptr<implementation>> parts_;
  description about_;
};

}  // namespace

description description_of(std::string_view encoding, std::string name) {
  description about;
  about.name = std::move(name);
  about.version = "1";
  about.deterministic = true;
  for (const core::operation& op : reference::operations())
    if (op.name.starts_with(std::string(encoding) + "/"))
      about.operations[op.name].assign(std::begin(core::floating_dtypes), std::end(core::floating_dtypes));
  return about;
}

std::unique_ptr<implementation> joined(std::vector<std::unique_ptr<implementation>> parts) {
  return std::make_unique<joined_implementations>(std::move(parts));
}

}  // namespace assay::properties
