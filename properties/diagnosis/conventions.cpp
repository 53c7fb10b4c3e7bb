#include "properties/diagnosis/conventions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

using core::attribute;

// The outputs of a call with another value of a setting, in double; those of the call as it is where it has none.
core::tensors outputs_with(const request& call, const std::string& name, const attribute& value) {
  request other = call;
  other.attributes[name] = value;
  if (!core::check_request(other)) other.attributes = call.attributes;
  other.type = core::dtype::f64;
  for (const auto& d : call.operation->inputs)
    if (!d.own_type) other.inputs.at(d.name) = core::cast(core::dtype::f64, other.inputs.at(d.name));
  return reference::evaluate(other, reference::accuracy_class::sequential);
}

hypothesis behaves_as(const std::string& name, const attribute& value, const std::vector<attribute>& asked) {
  const std::string behaves = fmt::format("behaves as {} = {}", name, core::to_string(value));
  return {asked.size() == 1 ? fmt::format("declared {} = {}, {}", name, core::to_string(asked.front()), behaves)
                            : fmt::format("{}, whatever is asked for", behaves),
          [](const core::operation&) { return true; },
          [name, value](const request& call) { return outputs_with(call, name, value); }};
}

hypothesis exchanged(const std::string& name, const attribute& one, const attribute& other) {
  return {fmt::format("{} = {} and {} are exchanged", name, core::to_string(one), core::to_string(other)),
          [](const core::operation&) { return true; },
          [=](const request& call) {
            const attribute& set = call.attributes.at(name);
            return outputs_with(call, name, set == one ? other : set == other ? one : set);
          }};
}

// The values that the wrong probes asked for.
std::vector<attribute> asked_values(const std::string& name, const std::vector<probe>& probes) {
  std::vector<attribute> asked;
  for (const probe& p : probes) {
    const auto set = p.c.call.attributes.find(name);
    if (!p.right && set != p.c.call.attributes.end() &&
        std::find(asked.begin(), asked.end(), set->second) == asked.end())
      asked.push_back(set->second);
  }
  return asked;
}

}  // namespace

std::vector<hypothesis> conventions_of(const core::operation& op, const std::vector<probe>& probes) {
  std::vector<hypothesis> all;
  for (const core::attribute_declaration& a : op.attributes) {
    if (!a.axis.empty()) continue;  // another size is another shape
    const std::vector<attribute> asked = asked_values(a.name, probes);
    for (const attribute& value : a.values)
      if (asked != std::vector{value}) all.push_back(behaves_as(a.name, value, asked));
    if (asked.size() < 2) continue;
    for (std::size_t i = 0; i < a.values.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) all.push_back(exchanged(a.name, a.values[j], a.values[i]));
  }
  return all;
}

}  // namespace assay::properties
