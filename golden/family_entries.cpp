#include "golden/family_entries.hpp"

#include <algorithm>
#include <set>

#include "golden/formats/attributes_json.hpp"
#include "golden/formats/json_file.hpp"
#include "reference/oracle.hpp"

namespace assay::golden {
namespace {

using nlohmann::json;

// "log-vjp-mild-future-zero"
std::string id_of(const core::operation& op, const std::string& rest) {
  std::string text = op.name.substr(op.name.find('/') + 1) + "-" + rest;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')); }, '-');
  return text;
}

// The sizes of the axes of an operation that no setting fixes.
json axes_of(const core::operation& op, const json& sizes) {
  std::set<std::string> symbols = core::axis_symbols(op);
  for (const core::attribute_declaration& a : op.attributes) symbols.erase(a.axis);
  json own = json::object();
  for (const auto& [symbol, size] : sizes.items())
    if (symbols.contains(symbol)) own[symbol] = size;
  return own;
}

// The standard settings, and, if `others` is set, all other settings that go together with these, changed one at a
// time.
std::vector<json> settings_of(const core::operation& op, bool others) {
  std::vector<json> all{json::object()};
  for (const core::attribute_declaration& a : op.attributes)
    for (const core::attribute& value : a.values) {
      json one = json::object();
      one[a.name] = formats::to_json(value);
      const auto set = formats::declared_attributes_from(op, one);
      if (others && value != a.standard && set && core::conflict_within(op, core::completed(op, *set)).empty())
        all.push_back(one);
    }
  return all;
}

}  // namespace

core::result<std::vector<json>> entries_of(const json& item, const std::string& encoding, const input_families& known) {
  if (!item.is_object() || !item.contains("family")) return std::vector{item};
  if (auto ok = formats::require_members(item, {"family", "axes", "seed"},
                                         {"id", "reason", "operation", "dtypes", "inputs", "attributes"});
      !ok)
    return tl::make_unexpected(ok.error());
  const bool is_for_all = !item.contains("operation");
  const json families = item.at("family").is_array() ? item.at("family") : json::array({item.at("family")});
  if (families.empty() || !std::all_of(families.begin(), families.end(), [](const json& f) { return f.is_string(); }))
    return core::failure("member 'family' must be a name, or a list of names");
  std::vector<json> all;
  std::set<std::string> symbols, unused(families.begin(), families.end());
  for (const core::operation& op : reference::operations()) {
    if (!op.name.starts_with(encoding + "/") || !(is_for_all || item.at("operation") == op.name)) continue;
    symbols.merge(core::axis_symbols(op));
    bool is_first = true;
    for (const json& family : families) {
      const auto& name = family.get_ref<const std::string&>();
      const auto summary = known.summary ? known.summary(op, name) : std::nullopt;
      if (!summary) continue;
      unused.erase(name);
      if (op.inputs.empty() && !is_first) continue;  // without inputs, its families do not differ
      for (const json& settings : settings_of(op, is_first && is_for_all && !item.contains("attributes"))) {
        std::string setting;
        for (const auto& [key, value] : settings.items())
          setting = " " + key + " " + (value.is_string() ? value.get<std::string>() : value.dump());
        json entry{{"id", id_of(op, name + setting)},
                   {"reason", *summary + (setting.empty() ? "" : ";" + setting)},
                   {"dtypes", json::array({"f64", "f32", "f16", "bf16"})},
                   {"inputs", json::object()},
                   {"attributes", settings}};
        entry.update(item);
        entry["operation"] = op.name;
        entry["family"] = name;
        if (is_for_all) entry["axes"] = axes_of(op, item.at("axes"));
        all.push_back(std::move(entry));
      }
      is_first = false;
    }
  }
  if (!unused.empty())
    return core::failure((is_for_all ? "no operation of " + encoding + " has"
                                     : formats::shown(item.at("operation").dump()) + " has not") +
                         " the family '" + formats::shown(*unused.begin()) + "'");
  for (const auto& [symbol, size] : item.at("axes").items())
    if (is_for_all && !symbols.contains(symbol))
      return core::failure("axes: no operation of " + encoding + " has an axis '" + formats::shown(symbol) + "'");
  return all;
}

}  // namespace assay::golden
