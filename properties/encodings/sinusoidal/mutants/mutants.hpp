// Wrong and right variants of sinusoidal encodings, to gate the gate.
#pragma once

#include "properties/harness/catalogue.hpp"

namespace assay::properties::encodings::sinusoidal {

std::vector<variant> mutants();
/// Those of gradients and of decay, which sinusoidal_mutants() has too.
std::vector<variant> function_mutants();
std::vector<variant> controls();

}  // namespace assay::properties::encodings::sinusoidal
