// Properties that all wrong cases have and the right cases do not have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/diagnosis/size_experiments.hpp"

namespace assay::properties {

/// " when there is more than one token", " where layout = \"half_split\"": a rule that holds for all wrong cases and
/// for no right case. Empty if no case is right; nothing if no rule fits. Right cases without a token or an element are
/// left out. A rule on sizes is given only if fresh cases confirm it: what parts wrong cases from right ones is often
/// no size, although their sizes differ. Precondition: some cases are wrong.
std::optional<std::string> where(const std::vector<const probe*>& wrong, const std::vector<const probe*>& right,
                                 size_experiments& again, evidence counted = evidence::any);

}  // namespace assay::properties
