#include "properties/diagnosis/conventions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace assay::properties {
namespace {

using core::attribute;

// The call with another value of a setting; as it is where it has none.
request with_value(const request& call, const std::string& name, const attribute& value) {
  request other = call;
  other.attributes[name] = value;
  return core::check_request(other) ? other : call;
}

/// Which value is taken where another one is set.
using value_taken = std::function<attribute(const attribute& set)>;

dictionary_entry entry_of(std::string words, const std::string& name, value_taken taken) {
  dictionary_entry e{entry_source::setting, words, words};
  e.answered = [name, taken = std::move(taken)](const request& call) {
    return with_value(call, name, taken(core::completed(*call.operation, call.attributes).at(name)));
  };
  return e;
}

dictionary_entry behaves_as(const std::string& name, const attribute& value, const std::vector<attribute>& asked) {
  const std::string behaves = fmt::format("behaves as {} = {}", name, core::to_string(value));
  const auto taken = [value](const attribute&) { return value; };
  if (asked.size() != 1) return entry_of(behaves + ", whatever is asked for", name, taken);
  const std::string one = core::to_string(asked.front());
  dictionary_entry e = entry_of(fmt::format("declared {} = {}, {}", name, one, behaves), name, taken);
  e.implied = fmt::format(" where {} = {}", name, one);
  return e;
}

dictionary_entry exchanged(const std::string& name, const attribute& one, const attribute& other) {
  return entry_of(fmt::format("{} = {} and {} are exchanged", name, core::to_string(one), core::to_string(other)), name,
                  [one, other](const attribute& set) { return set == one     ? other
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

void add_new(std::vector<attribute>& all, const attribute& value) {
  if (std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
}

// The numbers of a count that the sizes of a call bound, such as pairs of coordinates that rotate; none of others.
std::vector<attribute> bounded_counts(const core::attribute_declaration& a, const request& call) {
  constexpr std::int64_t most = 256;
  std::vector<attribute> all;
  if (!std::holds_alternative<std::int64_t>(a.standard)) return all;
  request other = call;
  for (std::int64_t count = 1; count <= most; ++count) {
    other.attributes[a.name] = count;
    if (!core::check_request(other)) return all;
    all.emplace_back(count);
  }
  return {};
}

// The declared values, those that were asked for, and all counts that the smallest wrong probe has room for.
std::vector<attribute> values_tried(const core::attribute_declaration& a, const std::vector<attribute>& asked,
                                    const std::vector<probe>& probes) {
  std::vector<attribute> all = a.values;
  for (const attribute& value : asked) add_new(all, value);
  const auto wrong = std::find_if(probes.begin(), probes.end(), [](const probe& p) { return !p.right; });
  if (wrong != probes.end())
    for (const attribute& count : bounded_counts(a, wrong->c.call)) add_new(all, count);
  return all;
}

}  // namespace

std::vector<dictionary_entry> conventions_of(const core::operation& op, const std::vector<probe>& probes) {
  std::vector<dictionary_entry> all;
  for (const core::attribute_declaration& a : op.attributes) {
    if (!a.axis.empty()) continue;  // another size is another shape
    const std::vector<attribute> asked = asked_values(a.name, probes);
    const std::vector<attribute> values = values_tried(a, asked, probes);
    for (const attribute& value : values)
      if (asked != std::vector{value}) all.push_back(behaves_as(a.name, value, asked));
    if (asked.size() < 2) continue;
    for (std::size_t i = 0; i < values.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) all.push_back(exchanged(a.name, values[j], values[i]));
  }
  return all;
}

}  // namespace assay::properties
