// A key from sizes by role: any operation at chosen sizes.
#pragma once

#include <map>
#include <string>

#include "properties/harness/case.hpp"

namespace assay::properties {

/// Mild inputs of these sizes. Settings are standard, except those that are given and those that are the size of an
/// axis. `family`: a family other than the mild one.
inline case_key mild_key(const core::operation& op, core::dtype type,
                         const std::map<core::axis_role, std::size_t>& by_role, const core::attributes& settings = {},
                         const std::string& family = "", std::uint64_t seed = 1) {
  core::axis_sizes sizes = core::sizes_by_role(op, by_role);
  case_key key{&op, type, family.empty() ? mild_family_of(op).name : family, seed};
  for (const core::attribute_declaration& a : op.attributes) {
    core::attribute value = a.standard;
    if (!a.axis.empty()) {
      sizes.erase(a.axis);
      const auto size = by_role.find(core::role_of(op, a.axis));
      if (size != by_role.end()) value = static_cast<std::int64_t>(size->second);
    }
    const auto requested = settings.find(a.name);
    key.settings[a.name] = {requested == settings.end() ? value : requested->second};
  }
  key.size = extent(sizes);
  return key;
}

}  // namespace assay::properties
