// The laws of Heinsen's recurrence alone: inequalities and identities. They need no other implementation and no truth,
// so they check the reference too.
#pragma once

#include "properties/harness/property.hpp"

namespace assay::properties::encodings::heinsen {

/// Inequalities between the states of up to three calls.
std::vector<property> inequality_laws();
std::vector<property> shift_laws();
std::vector<property> closed_form_laws();
/// Changes that must not affect later states and gradients.
std::vector<property> edit_laws();
std::vector<property> gradient_laws();
/// The signs of d states count to 2^d, with a margin.
property counter_law();
/// Constant inputs move every state in one direction.
property constant_stream_law();

std::vector<property> laws();

}  // namespace assay::properties::encodings::heinsen
