#include "tools/transports/declarations.hpp"

#include <nlohmann/json.hpp>

#include "golden/formats/attributes_json.hpp"
#include "reference/oracle.hpp"

namespace assay::transports {

using nlohmann::ordered_json;

std::string declarations_json() {
  const auto tensors = [](const std::vector<core::tensor_declaration>& all, bool are_inputs) {
    ordered_json list = ordered_json::array();
    for (const auto& d : all) {
      list.push_back({{"name", d.name}, {"axes", d.axes}, {"meaning", d.meaning}});
      if (d.own_type) list.back()["dtype"] = core::name_of(*d.own_type);
      if (are_inputs) list.back()["role"] = core::name_of(d.role);
    }
    return list;
  };
  const auto roles = [](const core::operation& op) {
    ordered_json all = ordered_json::object();
    for (const std::string& axis : core::axis_symbols(op)) all[axis] = core::name_of(core::role_of(op, axis));
    return all;
  };
  const auto attributes = [](const std::vector<core::attribute_declaration>& all) {
    ordered_json list = ordered_json::array();
    for (const auto& a : all) {
      ordered_json values = ordered_json::array();
      for (const core::attribute& value : a.values) values.push_back(formats::to_json(value));
      list.push_back({{"name", a.name},
                      {"meaning", a.meaning},
                      {"standard", formats::to_json(a.standard)},
                      {"values", std::move(values)}});
      if (!a.axis.empty()) list.back()["axis"] = a.axis;
      if (a.is_later()) list.back()["since"] = to_string(a.since);
    }
    return list;
  };
  const auto stages = [](const std::vector<core::stage_declaration>& all) {
    ordered_json list = ordered_json::array();
    for (const auto& s : all) list.push_back(s.name);
    return list;
  };
  ordered_json operations = ordered_json::array();
  // A candidate judged against a user formula is only asked for that.
  const bool has_formula =
      std::ranges::any_of(reference::encoding_names(), [](const auto& n) { return n == "formula"; });
  for (const core::operation& op : reference::operations())
    if (!has_formula || op.name.starts_with("formula/"))
      operations.push_back({{"name", op.name},
                            {"inputs", tensors(op.inputs, true)},
                            {"outputs", tensors(op.outputs, false)},
                            {"attributes", attributes(op.attributes)},
                            {"axes", core::free_axes(op)},
                            {"axis_roles", roles(op)},
                            {"stages", stages(op.stages)},
                            {"recurrent", reference::forward_of(op).recurrent.has_value()},
                            {"named_only", op.named_only}});
  return operations.dump();
}

}  // namespace assay::transports
