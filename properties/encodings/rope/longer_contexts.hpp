// Frequencies and magnitudes for contexts that are longer than those of training: families, sizes, variants.
#pragma once

#include <vector>

#include "properties/harness/catalogue.hpp"

namespace assay::properties::encodings::rope {

/// What the mild family has of numbers: usual bases, factors of frequencies, how much longer contexts are.
family usual_numbers();
/// Bases that tell the conventions of ramps apart, lengths about the trained one, factors, published models with all
/// their settings.
std::vector<family> families_of_longer_contexts();
/// Whole rotations with the settings of published models.
std::vector<usual_size> sizes_of_published_models();
std::vector<variant> mutants_of_longer_contexts(), controls_of_longer_contexts();
/// Rotations whose frequencies are scaled although nobody asked for that: by Llama 3's rule, by YaRN, by another base.
std::vector<hypothesis> scaled_rotations();

}  // namespace assay::properties::encodings::rope
