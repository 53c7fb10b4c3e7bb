// Wrong and right variants of rotary position embedding, to gate the gate.
#pragma once

#include "properties/harness/catalogue.hpp"

namespace assay::properties::encodings::rope {

/// All wrong ones, and by what is wrong.
std::vector<variant> mutants();
std::vector<variant> layout_mutants();
std::vector<variant> position_mutants();
std::vector<variant> frequency_mutants();
std::vector<variant> gradient_mutants();
std::vector<unmodelled> not_modelled();
std::vector<variant> controls();

}  // namespace assay::properties::encodings::rope
