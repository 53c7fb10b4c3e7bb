// The description that a user formula gives of itself, as an operation "formula/NAME".
#pragma once

#include <nlohmann/json.hpp>

#include "reference/core/operation.hpp"

namespace assay::tools {

/// Reads the first line of its host (adapters/python/assay/formulas/host.py): its inputs and outputs with their axes,
/// and its settings. Throws json::exception if it is not such a line.
core::operation operation_of_formula(const nlohmann::json& says);

}  // namespace assay::tools
