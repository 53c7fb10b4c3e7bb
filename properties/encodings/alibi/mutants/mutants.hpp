// Wrong and right variants of attention with linear biases, to gate the gate.
#pragma once

#include "properties/harness/catalogue.hpp"

namespace assay::properties::encodings::alibi {

std::vector<variant> mutants();
/// Those of the slopes and those of narrow formats, which are among them.
std::vector<variant> precision_mutants();
std::vector<variant> slope_mutants();
std::vector<variant> controls();

}  // namespace assay::properties::encodings::alibi
