// One file of a set, for make_set and check_set.
#pragma once

#include "golden/golden_set.hpp"

namespace assay::golden {

/// Says of a file what its numbers show: its flags, and what it reveals. Without `reveal` what stands there of this
/// stays. Precondition: its tensors are proved.
void describe(golden_file& file, const revealing& reveal);

/// Adds what is wrong with a file, by itself and against what the manifest and the recipe say, where they are there.
void check_listed_file(const std::filesystem::path& path, const set_options& options, const listed_file* listed,
                       const recipe_entry* entry, set_check& found);

}  // namespace assay::golden
