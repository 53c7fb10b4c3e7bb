// One file of a set, for make_set and check_set.
#pragma once

#include "golden/golden_set.hpp"

namespace assay::golden {

/// Sets the description of a file from its numbers: its flags, and the mutants that it reveals. Without `reveal` the
/// mutants and the flag `wide` stay as they were. Precondition: its tensors are proved.
void describe(golden_file& file, const revealing& reveal);

/// Adds the problems of a file: its own, and its differences from the manifest and the recipe, if they are given.
void check_listed_file(const std::filesystem::path& path, const set_options& options, const listed_file* listed,
                       const recipe_entry* entry, set_check& found);

}  // namespace assay::golden
