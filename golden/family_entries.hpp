// Entries of recipes whose inputs come from families (recipe.hpp): one line stands for many files.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "reference/core/operation.hpp"
#include "reference/core/result.hpp"

namespace assay::golden {

struct recipe_entry;

/// A program's families of inputs (properties/harness/case.hpp). golden/ itself knows none: the program passes them in.
struct input_families {
  /// A short description of the inputs of a family; nothing where an operation has no family of this name.
  std::function<std::optional<std::string>(const core::operation& op, const std::string& family)> summary{};
  /// All inputs of an entry's family, for its seed, sizes and settings; any thread may call it.
  std::function<core::tensors(const recipe_entry& entry, core::dtype type)> draw{};
};

/// The entries that an item of a recipe stands for, with every member that recipe.hpp names. An item without "family"
/// stands for itself.
core::result<std::vector<nlohmann::json>> entries_of(const nlohmann::json& item, const std::string& encoding,
                                                     const input_families& known);

}  // namespace assay::golden
