// Wrong and right variants of rotary position embedding, to gate the gate.
#pragma once

#include "properties/encodings.hpp"

namespace assay::properties {

std::vector<variant> rope_mutants();
std::vector<variant> rope_gradient_mutants();
std::vector<variant> rope_controls();

}  // namespace assay::properties
