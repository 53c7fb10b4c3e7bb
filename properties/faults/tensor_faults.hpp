// Mutants generated from the declarations of operations: a right implementation with one fault in one tensor.
#pragma once

#include "properties/harness/catalogue.hpp"

namespace assay::properties {

/// For every tensor of every operation of an encoding: zeroed, negated, doubled, one token late or early, the
/// first or last token lost, reversed in time, features or rows, one row or feature for all, rounded to a
/// narrower dtype; for outputs, all elements or one off by 2^k u, relatively and absolutely. A fault that a
/// declaration has no axis for is left out.
std::vector<variant> tensor_faults(const std::string& encoding,
                                   const std::function<std::unique_ptr<implementation>()>& right);

}  // namespace assay::properties
