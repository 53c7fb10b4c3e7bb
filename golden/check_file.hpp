// One file of a set, for make_set and check_set.
#pragma once

#include "golden/golden_set.hpp"

namespace assay::golden {

/// Writes into a file what its numbers show: its flags, and what it reveals. Without `reveal` the old entry of what it
/// reveals stays. Precondition: its tensors are proved.
void describe(golden_file& file, const revealing& reveal);

/// Adds the problems of a file: those of the file itself, and where the manifest or the recipe, if given, say
/// otherwise.
void check_listed_file(const std::filesystem::path& path, const set_options& options, const listed_file* listed,
                       const recipe_entry* entry, set_check& found);

}  // namespace assay::golden
