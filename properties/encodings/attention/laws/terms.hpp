// Absolute positions as what they add to the logits.
#pragma once

#include "properties/laws/relations/relations.hpp"

namespace assay::properties::encodings::attention {

/// With queries (x + p) W_Q and keys (x + p) W_K a logit has four terms (Dai et al. 2019, arXiv 1901.02860,
/// section 3.3):
///
///   scale (x_i M x_j^T + x_i M p_j^T + p_i M x_j^T + p_i M p_j^T),   M = W_Q W_K^T
///
/// so attention of them without a bias is that of x W_Q and x W_K with the other three as the bias: the same weights,
/// and the same gradients of values and logits. All numbers are small integers, and the scale a power of two: exact in
/// every dtype.
void check_four_terms(experiment& e);

}  // namespace assay::properties::encodings::attention
