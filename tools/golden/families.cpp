#include "tools/golden/families.hpp"

#include "properties/harness/case.hpp"

namespace assay::tools {

golden::input_families all_families() {
  return {[](const core::operation& op, const std::string& name) -> std::optional<std::string> {
            for (const properties::family& f : properties::families_of(op))
              if (f.name == name) return f.summary;
            return std::nullopt;
          },
          [](const golden::recipe_entry& entry, core::dtype type) {
            properties::case_key key{entry.operation, type, entry.family, entry.seed, properties::extent(entry.axes)};
            for (const auto& [name, value] : core::completed(*entry.operation, entry.attributes))
              key.settings[name] = {value};
            return properties::make_case(key).call.inputs;
          }};
}

}  // namespace assay::tools
