// Wrong and right variants of sinusoidal encodings, to gate the gate.
#pragma once

#include "properties/encodings.hpp"

namespace assay::properties {

std::vector<variant> sinusoidal_mutants();
/// Those of gradients and of decay, which sinusoidal_mutants() has too.
std::vector<variant> sinusoidal_function_mutants();
std::vector<variant> sinusoidal_controls();

}  // namespace assay::properties
