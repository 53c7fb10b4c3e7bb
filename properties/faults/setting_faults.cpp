// Faults of settings. A setting that fixes the size of an axis has no such faults: wrong shapes would reveal them.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "properties/faults/declared_fault.hpp"

namespace assay::properties {
namespace {

using core::attribute;

std::string plain_text(const attribute& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : core::to_string(value);
}

declared_fault always(const core::operation& op, const core::attribute_declaration& a, const attribute& value) {
  const bool standard = value == a.standard;
  return fault_of_call(op, a.name, standard ? "ignored" : "always_" + plain_text(value),
                       fmt::format("{} is ignored: it is {} always", a.name, plain_text(value)),
                       [name = a.name, value](request& call) { call.attributes[name] = value; });
}

declared_fault exchanged(const core::operation& op, const core::attribute_declaration& a, const attribute& one,
                         const attribute& other) {
  return fault_of_call(op, a.name, fmt::format("{}_and_{}_exchanged", plain_text(one), plain_text(other)),
                       fmt::format("{} = {} and {} are exchanged", a.name, plain_text(one), plain_text(other)),
                       [name = a.name, one, other](request& call) {
                         attribute& value = call.attributes.at(name);
                         value = value == one ? other : value == other ? one : value;
                       });
}

declared_fault stuck(const core::operation& op, const core::attribute_declaration& a) {
  declared_fault fault{&op, a.name, "stuck_at_first", a.name + " is stuck at the value of the first call"};
  fault.remembers = true;
  fault.make = [name = a.name]() -> faulty_call {
    const auto first = std::make_shared<std::optional<attribute>>();
    return [name, first](implementation& right, const request& call) {
      if (!*first) *first = call.attributes.at(name);
      request edited = call;
      edited.attributes[name] = **first;
      return right.evaluate(core::check_request(edited) ? edited : call);
    };
  };
  return fault;
}

// Faults that use a slightly different number.
void add_numeric(declared_fault_list& all, const core::operation& op, const core::attribute_declaration& a) {
  if (std::holds_alternative<std::int64_t>(a.standard))
    for (const std::int64_t by : {1, -1})
      all.push_back(fault_of_call(
          op, a.name, by > 0 ? "one_off" : "one_less",
          fmt::format("{} is one too {}", a.name, by > 0 ? "large" : "small"),
          [name = a.name, by](request& call) { std::get<std::int64_t>(call.attributes.at(name)) += by; }));
  if (std::holds_alternative<double>(a.standard))
    for (const core::dtype held : {core::dtype::bf16, core::dtype::f16})
      all.push_back(fault_of_call(op, a.name, fmt::format("in_{}", core::name_of(held)),
                                  fmt::format("{} is held in {}", a.name, core::name_of(held)),
                                  [name = a.name, held](request& call) {
                                    double& x = std::get<double>(call.attributes.at(name));
                                    x = core::round_to(held, x);
                                  }));
}

bool is_number(const attribute& a) {
  return std::holds_alternative<double>(a) || std::holds_alternative<std::int64_t>(a);
}

}  // namespace

declared_fault_list setting_faults(const core::operation& op) {
  declared_fault_list all;
  for (const core::attribute_declaration& a : op.attributes) {
    if (!a.axis.empty()) continue;
    all.push_back(stuck(op, a));
    for (const attribute& value : a.values)
      if (value == a.standard || !is_number(value)) all.push_back(always(op, a, value));
    if (is_number(a.standard)) {
      add_numeric(all, op, a);
      continue;
    }
    for (std::size_t i = 0; i < a.values.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) all.push_back(exchanged(op, a, a.values[j], a.values[i]));
  }
  return all;
}

}  // namespace assay::properties
