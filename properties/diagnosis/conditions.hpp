// What the wrong cases have in common and the right ones do not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/diagnosis/size_experiments.hpp"

namespace assay::properties {

/// " when there is more than one token", " where layout = \"half_split\"": a rule that holds for all of the wrong ones
/// and for none of the right ones. Empty where none are right, nothing where no rule fits. Right cases without a
/// token or an element are left out. A rule of sizes is said where fresh cases confirm it: in cases that differ in one
/// axis there is often another cause. Precondition: some are wrong.
std::optional<std::string> where(const std::vector<const probe*>& wrong, const std::vector<const probe*>& right,
                                 size_experiments& again, evidence counted = evidence::any);

}  // namespace assay::properties
