// Sizes that go together: sizes drawn axis by axis may contradict an operation's own rules.
#pragma once

#include <functional>

#include "properties/harness/case.hpp"

namespace assay::properties {

/// Whether sizes may be those of one call.
using sizes_fit = std::function<bool(const core::axis_sizes&)>;

/// The sizes nearest to these, by ratio, for which `fit` holds: one axis moves, or two if one does not suffice. An axis
/// that was not requested (it is not in `requested`) moves before a requested one. Sizes stay declared ones, and a size
/// that is a setting stays as it is. Returns the sizes unchanged if none are found. Rules relate sizes by order, as
/// multiples and as products, with one another and with integer settings: such numbers are tried.
core::axis_sizes sizes_together(const core::operation& op, const core::attributes& settings,
                                const core::axis_sizes& sizes, const core::axis_sizes& requested,
                                const size_domains& declared, const sizes_fit& fit);

/// The same for the operation's own rule (core::operation::conflict).
core::axis_sizes sizes_together(const core::operation& op, const core::attributes& settings,
                                const core::axis_sizes& sizes, const core::axis_sizes& requested = {},
                                const size_domains& declared = {});

}  // namespace assay::properties
