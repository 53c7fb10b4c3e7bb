// Frequent faults of implementations of Heinsen's operations.
#pragma once

#include <vector>

#include "properties/harness/hypothesis.hpp"

namespace assay::properties::encodings::heinsen {

/// Wrong states, and wrong gradients of right states; simpler explanations first.
std::vector<hypothesis> state_hypotheses();
std::vector<hypothesis> block_hypotheses();
std::vector<hypothesis> gradient_hypotheses();
std::vector<family_fact> family_facts();

}  // namespace assay::properties::encodings::heinsen
