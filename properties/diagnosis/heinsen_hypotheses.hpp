// What is often wrong with implementations of Heinsen's operations.
#pragma once

#include <vector>

#include "properties/diagnosis/hypothesis.hpp"

namespace assay::properties {

/// Wrong states, and wrong gradients of right states; simpler explanations first.
std::vector<hypothesis> heinsen_state_hypotheses();
std::vector<hypothesis> heinsen_block_hypotheses();
std::vector<hypothesis> heinsen_gradient_hypotheses();

}  // namespace assay::properties
