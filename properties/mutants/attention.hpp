// Wrong, and right but different, implementations of attention.
#pragma once

#include "properties/encodings.hpp"

namespace assay::properties {

std::vector<variant> attention_mutants();
/// Parts of the list: between the logits and the weights, and in the gradients alone.
std::vector<variant> attention_weight_mutants();
std::vector<variant> attention_gradient_mutants();
std::vector<variant> attention_controls();

}  // namespace assay::properties
