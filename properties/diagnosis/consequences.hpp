// Finds the failed checks that have no cause of their own.
#pragma once

#include "properties/diagnosis/repetition.hpp"
#include "properties/harness/property.hpp"

namespace assay::properties {

/// Whether a property that fails passes the same case once the implementation gives the truth wherever its outputs are
/// wrong. For a property about state (property::about_state), an answer counts as wrong only if a fresh implementation
/// gives the same answer to that call alone: otherwise the earlier calls are the cause.
bool fails_by_wrong_values_alone(const property& failed, const test_case& shown, implementation& under_test,
                                 const fresh_start& fresh);

}  // namespace assay::properties
