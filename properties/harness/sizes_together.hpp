// Sizes that go with one another: what is drawn axis by axis may contradict an operation's own rules.
#pragma once

#include <functional>

#include "properties/harness/case.hpp"

namespace assay::properties {

/// Sizes may be those of one call.
using sizes_fit = std::function<bool(const core::axis_sizes&)>;

/// The sizes nearest to these that `fit`, by their ratio: one axis moves, or two of them where one does not suffice. An
/// axis that nobody asked for (it is not in `asked`) moves before one that somebody did; sizes stay declared ones, and
/// one that is a setting stays as it is. The sizes as they are where none are found. Rules relate sizes by their order,
/// as multiples and as products, with one another and with integer settings: what is tried are such numbers.
core::axis_sizes sizes_together(const core::operation& op, const core::attributes& settings,
                                const core::axis_sizes& sizes, const core::axis_sizes& asked,
                                const size_domains& declared, const sizes_fit& fit);

/// The same for the operation's own rule (core::operation::conflict).
core::axis_sizes sizes_together(const core::operation& op, const core::attributes& settings,
                                const core::axis_sizes& sizes, const core::axis_sizes& asked = {},
                                const size_domains& declared = {});

}  // namespace assay::properties
