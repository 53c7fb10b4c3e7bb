// The sizes of axes as JSON, in recipes, manifests and metadata.
#pragma once

#include <nlohmann/json.hpp>

#include "reference/core/operation.hpp"
#include "reference/core/result.hpp"

namespace assay::golden {

/// What one file of a set may ask for: the product of its axes (empty ones counting 1). Proofs cost time, and tensors
/// memory.
inline constexpr std::size_t largest_work = std::size_t{1} << 26;
bool is_too_large(const core::axis_sizes& axes);

/// All axes of an operation, from an object {symbol: size} that has each but those that are known already. An error
/// where one is missing, unknown, or no integer, or where is_too_large.
core::result<core::axis_sizes> axes_from(const nlohmann::json& j, const core::operation& op,
                                         core::axis_sizes known = {});

}  // namespace assay::golden
