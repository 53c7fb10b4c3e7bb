#include "properties/faults/scheme_variant.hpp"

namespace assay::properties {
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

}  // namespace assay::properties
