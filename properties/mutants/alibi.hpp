// Wrong and right variants of attention with linear biases, to gate the gate.
#pragma once

#include "properties/encodings.hpp"

namespace assay::properties {

std::vector<variant> alibi_mutants();
/// Those of the slopes and those of narrow formats, which are among them.
std::vector<variant> alibi_precision_mutants();
std::vector<variant> alibi_slope_mutants();
std::vector<variant> alibi_controls();

}  // namespace assay::properties
