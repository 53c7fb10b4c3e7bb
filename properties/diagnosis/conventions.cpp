#include "properties/diagnosis/conventions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "properties/faults/declared_faults.hpp"

namespace assay::properties {
namespace {

using core::attribute;

// The outputs of right code under another value of a setting; those of the call as it is where it has none.
call_result outputs_with(implementation& right, const request& call, const std::string& name, const attribute& value) {
  request other = call;
  other.attributes[name] = value;
  if (!core::check_request(other)) other.attributes = call.attributes;
  return right.evaluate(other);
}

/// Which value is taken where another one is set.
using value_taken = std::function<attribute(const attribute& set)>;

dictionary_entry entry_of(const core::operation& op, std::string words, const std::string& name, value_taken taken) {
  return {entry_source::setting, words, words, "",
          [encoding = op.name.substr(0, op.name.find('/')), name, taken = std::move(taken)]() -> wrong_model {
            return [right = std::shared_ptr<implementation>(plain_implementation(encoding)), name,
                    taken](const request& call) {
              const attribute set = core::completed(*call.operation, call.attributes).at(name);
              return outputs_with(*right, call, name, taken(set));
            };
          }};
}

dictionary_entry behaves_as(const core::operation& op, const std::string& name, const attribute& value,
                            const std::vector<attribute>& asked) {
  const std::string behaves = fmt::format("behaves as {} = {}", name, core::to_string(value));
  const auto taken = [value](const attribute&) { return value; };
  if (asked.size() != 1) return entry_of(op, behaves + ", whatever is asked for", name, taken);
  const std::string one = core::to_string(asked.front());
  dictionary_entry e = entry_of(op, fmt::format("declared {} = {}, {}", name, one, behaves), name, taken);
  e.implied = fmt::format(" where {} = {}", name, one);
  return e;
}

dictionary_entry exchanged(const core::operation& op, const std::string& name, const attribute& one,
                           const attribute& other) {
  return entry_of(op, fmt::format("{} = {} and {} are exchanged", name, core::to_string(one), core::to_string(other)),
                  name, [one, other](const attribute& set) { return set == one     ? other
                                                                    : set == other ? one
                                                                                   : set; });
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

std::vector<dictionary_entry> conventions_of(const core::operation& op, const std::vector<probe>& probes) {
  std::vector<dictionary_entry> all;
  for (const core::attribute_declaration& a : op.attributes) {
    if (!a.axis.empty()) continue;  // another size is another shape
    const std::vector<attribute> asked = asked_values(a.name, probes);
    for (const attribute& value : a.values)
      if (asked != std::vector{value}) all.push_back(behaves_as(op, a.name, value, asked));
    if (asked.size() < 2) continue;
    for (std::size_t i = 0; i < a.values.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) all.push_back(exchanged(op, a.name, a.values[j], a.values[i]));
  }
  return all;
}

}  // namespace assay::properties
