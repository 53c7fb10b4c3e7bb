// The sizes of axes as JSON, in recipes, manifests and metadata.
#pragma once

#include <nlohmann/json.hpp>

#include "reference/core/operation.hpp"
#include "reference/core/result.hpp"

namespace assay::golden {

/// The largest size of one file of a set: the product of its axes, where empty axes count as 1. Proofs cost time, and
/// tensors cost memory.
inline constexpr std::size_t largest_work = std::size_t{1} << 26;
bool is_too_large(const core::axis_sizes& axes);

/// All axes of an operation, from an object {symbol: size} that has all axes except those known already. An error where
/// an axis is missing, unknown, or no integer, or where is_too_large.
core::result<core::axis_sizes> axes_from(const nlohmann::json& j, const core::operation& op,
                                         core::axis_sizes known = {});

}  // namespace assay::golden
