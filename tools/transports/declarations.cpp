#include "tools/transports/declarations.hpp"

#include <nlohmann/json.hpp>

#include "reference/oracle.hpp"

namespace assay::transports {

using nlohmann::ordered_json;

std::string declarations_json() {
  const auto tensors = [](const std::vector<core::tensor_declaration>& all) {
    ordered_json list = ordered_json::array();
    for (const auto& d : all) list.push_back({{"name", d.name}, {"axes", d.axes}});
    return list;
  };
  ordered_json operations = ordered_json::array();
  for (const core::operation& op : reference::operations())
    operations.push_back({{"name", op.name}, {"inputs", tensors(op.inputs)}, {"outputs", tensors(op.outputs)}});
  return operations.dump();
}

}  // namespace assay::transports
