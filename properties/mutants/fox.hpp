// Wrong and right variants of the decay of forgetting attention, to gate the gate.
#pragma once

#include "properties/encodings.hpp"

namespace assay::properties {

std::vector<variant> fox_mutants();
std::vector<variant> fox_controls();

}  // namespace assay::properties
