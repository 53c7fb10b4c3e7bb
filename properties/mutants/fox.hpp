// Wrong and right variants of the decay of forgetting attention, to gate the gate.
#pragma once

#include "properties/encodings.hpp"

namespace assay::properties {

std::vector<variant> fox_mutants();
/// Parts of the list: wrong gates and precisions, wrong gradients of the sums, wrong attention.
std::vector<variant> fox_gate_mutants();
std::vector<variant> fox_gradient_mutants();
std::vector<variant> fox_attention_mutants();
std::vector<variant> fox_controls();

}  // namespace assay::properties
