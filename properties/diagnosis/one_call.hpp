// What is wrong with the outputs of one call, where there is nobody to ask for more.
#pragma once

#include <optional>
#include <string>

#include "properties/harness/verdict.hpp"

namespace assay::properties {

/// The entries of the fault dictionary, other values of settings first, that give such outputs too: "behaves as layout
/// = interleaved". Nothing where none does, or the call is too large to put them all to it, even to its positions
/// about the wrong element. Precondition: judge() says that the outputs are wrong, and `report` is what it says.
std::optional<std::string> explanation_of_outputs(const request& call, const core::precisions& compute,
                                                  const core::tensors& outputs, const value_report& report);

}  // namespace assay::properties
