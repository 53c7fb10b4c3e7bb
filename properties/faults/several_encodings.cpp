#include "properties/faults/several_encodings.hpp"

namespace assay::properties {

several_encodings::several_encodings(std::vector<std::unique_ptr<implementation>> parts)
    : parts_(std::move(parts)), about_(parts_.front()->describe()) {
  for (const auto& part : parts_) {
    const description& about = part->describe();
    about_.operations.insert(about.operations.begin(), about.operations.end());
    about_.domain.insert(about.domain.begin(), about.domain.end());
    about_.settings.insert(about.settings.begin(), about.settings.end());
  }
}

call_result several_encodings::evaluate(const request& call) {
  for (const auto& part : parts_)
    if (part->describe().offers(call.operation->name, call.type)) return part->evaluate(call);
  return tl::make_unexpected(call_failure{fault::unsupported, "no part has " + call.operation->name});
}

}  // namespace assay::properties
