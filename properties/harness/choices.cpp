#include "properties/harness/choices.hpp"

#include <algorithm>

#include "properties/harness/steering.hpp"

namespace assay::properties {

bool is_choice(const core::attribute_declaration& setting) {
  return setting.axis.empty() &&
         (std::holds_alternative<std::string>(setting.standard) || std::holds_alternative<bool>(setting.standard));
}

bool is_integer(const core::attribute_declaration& setting) {
  return setting.axis.empty() && std::holds_alternative<std::int64_t>(setting.standard);
}

namespace {

// The settings that have only one value, with that value.
core::attributes decided_by(const case_key& key) {
  core::attributes all;
  for (const auto& [name, values] : key.settings)
    if (values.size() == 1) all[name] = values.front();
  return all;
}

bool go_together(const core::operation& op, const core::attributes& decided) {
  return core::conflict_within(op, core::completed(op, decided)).empty();
}

// The first value, from this turn on, that goes together with the decided settings; none if no value does.
std::optional<core::attribute> value_of_turn(const core::operation& op, core::attributes decided,
                                             const std::string& name, const std::vector<core::attribute>& values,
                                             std::size_t turn) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    decided[name] = values[(turn + k) % values.size()];
    if (go_together(op, decided)) return decided[name];
  }
  return std::nullopt;
}

// Adds keys for values of choices that no key has because they go together only with some other value of another
// choice. Such a key has both values.
void add_missing_choices(std::vector<case_key>& all, const case_key& key, const setting_values& choices,
                         const core::attributes& decided) {
  const auto has = [&](const std::string& name, const core::attribute& value) {
    return std::any_of(all.begin(), all.end(), [&](const case_key& k) {
      const auto set = k.settings.find(name);
      return set == k.settings.end() || std::find(set->second.begin(), set->second.end(), value) != set->second.end();
    });
  };
  for (const auto& [name, values] : choices)
    for (const core::attribute& value : values) {
      bool found = has(name, value);
      for (const auto& [other, other_values] : choices)
        for (const core::attribute& with : other_values) {
          core::attributes together = decided;
          together[other] = with;
          together[name] = value;
          if (found || other == name || !go_together(*key.operation, together)) continue;
          case_key chosen = key;
          for (const auto& [each, unused] : choices) chosen.settings[each] = {key.operation->attribute(each)->standard};
          chosen.settings[name] = {value};
          chosen.settings[other] = {with};
          all.push_back(std::move(chosen));
          found = true;
        }
    }
}

}  // namespace

std::optional<case_key> with_other_integers(const case_key& key, const setting_values& within, std::size_t turn) {
  case_key other = key;
  bool differs = false;
  for (const core::attribute_declaration& a : key.operation->attributes) {
    if (!is_integer(a)) continue;
    std::vector<core::attribute> values = values_to_draw(a, within, {});
    std::erase(values, a.standard);
    const auto value = value_of_turn(*key.operation, decided_by(other), a.name, values, turn);
    if (!value) continue;
    std::vector<core::attribute> chosen{*value};
    std::vector<core::attribute>& before = other.settings[a.name];
    differs = differs || before != chosen;
    before = std::move(chosen);
  }
  return differs ? std::optional(std::move(other)) : std::nullopt;
}

std::vector<case_key> with_choices_by_turns(const case_key& key, std::size_t first) {
  setting_values choices;
  std::size_t turns = 1;
  core::attributes decided = decided_by(key);
  for (const core::attribute_declaration& a : key.operation->attributes)
    if (is_choice(a)) {
      choices[a.name] = values_to_draw(a, key.settings, {});
      turns = std::max(turns, choices[a.name].size());
      decided.erase(a.name);
    }
  std::vector<case_key> all;
  for (std::size_t turn = first; turn < first + turns; ++turn) {
    case_key chosen = key;
    core::attributes together = decided;
    std::size_t shift = 0;
    for (const auto& [name, values] : choices) {
      together[name] = value_of_turn(*key.operation, together, name, values, turn + shift)
                           .value_or(values[(turn + shift + values.size() - 1) % values.size()]);
      chosen.settings[name] = {together[name]};
      shift += first;
    }
    all.push_back(go_together(*key.operation, together) ? std::move(chosen) : key);
  }
  add_missing_choices(all, key, choices, decided);
  return all;
}

}  // namespace assay::properties
