// What a formula of one's own says of itself, as an operation "formula/NAME".
#pragma once

#include <nlohmann/json.hpp>

#include "reference/core/operation.hpp"

namespace assay::tools {

/// Of the first line of its host (adapters/python/assay/formulas/host.py): its inputs and outputs with their axes, and
/// its settings. A json::exception where it is none.
core::operation operation_of_formula(const nlohmann::json& says);

}  // namespace assay::tools
