// Entries of recipes whose inputs are those of families (recipe.hpp): one line stands for many files.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "reference/core/operation.hpp"
#include "reference/core/result.hpp"

namespace assay::golden {

struct recipe_entry;

/// What a program knows of families of inputs (properties/harness/case.hpp). golden/ knows none: the program says which
/// there are.
struct input_families {
  /// What its inputs are, in a few words; nothing where an operation has no family of this name.
  std::function<std::optional<std::string>(const core::operation& op, const std::string& family)> summary{};
  /// All inputs of an entry's family, of its seed, sizes and settings; called of any thread.
  std::function<core::tensors(const recipe_entry& entry, core::dtype type)> draw{};
};

/// The entries that an item of a recipe stands for, with every member that recipe.hpp names. An item without "family"
/// stands for itself.
core::result<std::vector<nlohmann::json>> entries_of(const nlohmann::json& item, const std::string& encoding,
                                                     const input_families& known);

}  // namespace assay::golden
