// Says what is wrong with the outputs of one call, if no more calls can be made.
#pragma once

#include <optional>
#include <string>

#include "properties/harness/verdict.hpp"

namespace assay::properties {

/// The entries of the fault dictionary that give such outputs too, other values of settings first: "behaves as layout =
/// interleaved". Nothing if no entry does, or if the call is too large to try them all, even on positions about the
/// wrong element alone. Precondition: judge() says that the outputs are wrong, and `report` is what it says.
std::optional<std::string> explanation_of_outputs(const request& call, const core::precisions& compute,
                                                  const core::tensors& outputs, const value_report& report);

}  // namespace assay::properties
