// Wrong and right variants of the encoding, to gate the gate.
#pragma once

#include "properties/harness/catalogue.hpp"

namespace assay::properties::encodings::skeleton {

std::vector<variant> mutants();
std::vector<variant> controls();

}  // namespace assay::properties::encodings::skeleton
