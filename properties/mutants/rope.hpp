// Wrong and right variants of rotary position embedding, to gate the gate.
#pragma once

#include "properties/encodings.hpp"

namespace assay::properties {

/// All wrong ones, and by what is wrong.
std::vector<variant> rope_mutants();
std::vector<variant> rope_layout_mutants();
std::vector<variant> rope_position_mutants();
std::vector<variant> rope_frequency_mutants();
std::vector<variant> rope_gradient_mutants();
std::vector<unmodelled> rope_not_modelled();
std::vector<variant> rope_controls();

}  // namespace assay::properties
