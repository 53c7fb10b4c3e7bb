// Wrong and right variants of the encoding, to gate the gate.
#pragma once

#include "properties/encodings.hpp"

namespace assay::properties {

std::vector<variant> skeleton_mutants();
std::vector<variant> skeleton_controls();

}  // namespace assay::properties
