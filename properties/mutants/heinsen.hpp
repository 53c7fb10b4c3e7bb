// Wrong and right variants of Heinsen's operations, to gate the gate.
#pragma once

#include "properties/encodings.hpp"

namespace assay::properties {

std::vector<variant> heinsen_mutants();
std::vector<variant> heinsen_controls();

}  // namespace assay::properties
