// Frequencies and magnitudes for contexts longer than those of training: families, sizes, variants.
#pragma once

#include <vector>

#include "properties/harness/catalogue.hpp"

namespace assay::properties::encodings::rope {

/// The numbers of the mild family: usual bases, factors of frequencies, and ratios by which contexts are longer.
family usual_numbers();
/// Bases that distinguish the conventions of ramps, lengths near the trained one, factors, and published models with
/// all their settings.
std::vector<family> families_of_longer_contexts();
/// Whole rotations with the settings of published models.
std::vector<usual_size> sizes_of_published_models();
std::vector<variant> mutants_of_longer_contexts(), controls_of_longer_contexts();
/// Rotations with scaled frequencies although no scaling was requested: by Llama 3's rule, by YaRN, by another base.
std::vector<hypothesis> scaled_rotations();

}  // namespace assay::properties::encodings::rope
