// Along which axes a formula of one's own is many functions beside one another: its declaration does not say it.
#pragma once

#include <string>
#include <vector>

#include "reference/formula/owner.hpp"

namespace assay::properties {

/// The standard settings, and each setting away from its standard value, one at a time.
std::vector<core::attributes> each_setting_of(const core::operation& op);

/// The axes that all outputs have, along which one position alone gives what it gives beside others, in every bit of
/// plain arithmetic in f64: tried on inputs of the families that formulas have, for each value of each setting, the
/// others as they are standard. Parts of a call are judged apart along them. An axis that cannot have one position, or
/// where `r.record` throws for it, is none of them.
std::vector<std::string> independent_axes(const reference::formula::recorded_operation& r);

}  // namespace assay::properties
