// Wrong and right variants of the decay of forgetting attention, to gate the gate.
#pragma once

#include "properties/harness/catalogue.hpp"

namespace assay::properties::encodings::fox {

std::vector<variant> mutants();
/// Parts of the list: wrong gates and precisions, wrong gradients of the sums, wrong attention.
std::vector<variant> gate_mutants();
std::vector<variant> gradient_mutants();
std::vector<variant> attention_mutants();
std::vector<variant> controls();

}  // namespace assay::properties::encodings::fox
