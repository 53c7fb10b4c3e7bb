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

std::optional<case_key> with_other_integers(const case_key& key, const setting_values& within, std::size_t turn) {
  case_key other = key;
  bool differs = false;
  for (const core::attribute_declaration& a : key.operation->attributes) {
    if (!is_integer(a)) continue;
    std::vector<core::attribute> values = values_to_draw(a, within, {});
    std::erase(values, a.standard);
    if (values.empty()) continue;
    std::vector<core::attribute> chosen{values[turn % values.size()]};
    std::vector<core::attribute>& before = other.settings[a.name];
    differs = differs || before != chosen;
    before = std::move(chosen);
  }
  return differs ? std::optional(std::move(other)) : std::nullopt;
}

std::vector<case_key> with_choices_by_turns(const case_key& key, std::size_t first) {
  setting_values choices;
  std::size_t turns = 1;
  for (const core::attribute_declaration& a : key.operation->attributes)
    if (is_choice(a)) {
      choices[a.name] = values_to_draw(a, key.settings, {});
      turns = std::max(turns, choices[a.name].size());
    }
  std::vector<case_key> all;
  for (std::size_t turn = first; turn < first + turns; ++turn) {
    case_key chosen = key;
    core::attributes together;
    std::size_t shift = 0;
    for (const auto& [name, values] : choices) {
      // The next value where one does not go together with those of other settings.
      for (std::size_t k = 0; k < values.size(); ++k) {
        together[name] = values[(turn + shift + k) % values.size()];
        if (core::conflict_within(*key.operation, core::completed(*key.operation, together)).empty()) break;
      }
      chosen.settings[name] = {together[name]};
      shift += first;
    }
    const bool conflict = !core::conflict_within(*key.operation, core::completed(*key.operation, together)).empty();
    all.push_back(conflict ? key : std::move(chosen));
  }
  return all;
}

}  // namespace assay::properties
