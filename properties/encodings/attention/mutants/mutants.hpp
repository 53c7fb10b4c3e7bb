// Wrong, and right but different, implementations of attention.
#pragma once

#include "properties/harness/catalogue.hpp"

namespace assay::properties::encodings::attention {

std::vector<variant> mutants();
/// Parts of the list: between the logits and the weights, and in the gradients alone.
std::vector<variant> weight_mutants();
std::vector<variant> gradient_mutants();
std::vector<variant> controls();

}  // namespace assay::properties::encodings::attention
