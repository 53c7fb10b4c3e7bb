// The laws of Heinsen's recurrence alone: inequalities and identities that need no other implementation and
// no truth, so that they check the reference too.
#pragma once

#include "properties/harness/property.hpp"

namespace assay::properties::encodings::heinsen {

/// What one or two calls imply for the order of states.
std::vector<property> inequality_laws();
std::vector<property> shift_laws();
std::vector<property> closed_form_laws();
/// What later states and gradients must not notice.
std::vector<property> edit_laws();
std::vector<property> gradient_laws();
/// The signs of d states count to 2^d, with a margin.
property counter_law();
/// Constant inputs move every state one way.
property constant_stream_law();

std::vector<property> laws();

}  // namespace assay::properties::encodings::heinsen
