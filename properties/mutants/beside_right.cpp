#include "properties/mutants/beside_right.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

class with_right_operations final : public implementation {
 public:
  with_right_operations(std::unique_ptr<implementation> own, const std::vector<std::string>& operations)
      : own_(std::move(own)), about_(own_->describe()) {
    for (const std::string& name : operations)
      if (reference::find_operation(name) != nullptr && !own_->describe().operations.contains(name))
        about_.operations[name].assign(std::begin(core::floating_dtypes), std::end(core::floating_dtypes));
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    if (own_->describe().operations.contains(call.operation->name)) return own_->evaluate(call);
    return reference::evaluate(call, reference::accuracy_class::sequential);
  }

 private:
  std::unique_ptr<implementation> own_;
  description about_;
};

}  // namespace

variant beside_right(variant v, std::vector<std::string> operations) {
  v.make = [own = std::move(v.make), operations = std::move(operations)] {
    return std::make_unique<with_right_operations>(own(), operations);
  };
  return v;
}

}  // namespace assay::properties
