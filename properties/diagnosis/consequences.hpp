// Which failed checks have no reason of their own.
#pragma once

#include "properties/diagnosis/repetition.hpp"
#include "properties/harness/property.hpp"

namespace assay::properties {

/// Whether a property that fails passes the same case once the implementation gives the truth wherever its outputs are
/// wrong. Of a property about state (property::about_state) an answer counts as wrong only where a fresh implementation
/// gives the same to that call alone: else the calls before are the reason.
bool fails_by_wrong_values_alone(const property& failed, const test_case& shown, implementation& under_test,
                                 const fresh_start& fresh);

}  // namespace assay::properties
