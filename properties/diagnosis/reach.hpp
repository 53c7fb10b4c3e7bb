// Where among positions or distances a fault lies, element by element.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/diagnosis/size_experiments.hpp"

namespace assay::properties {

/// " from position 1024 on, and right up to position 1000", of all elements that are numbers: no wrong one lies before,
/// at least half of those behind are wrong, and hardly any, or of `any` evidence none, is of a right call; or the other
/// way around, or between two places; and fresh cases confirm it, wrong ones moved to where it is right and right ones
/// to where it is wrong. Nothing where there is no such place, or where the operation has neither positions nor
/// distances that belong to its elements.
std::optional<std::string> by_reach(const std::vector<const probe*>& wrong, const std::vector<const probe*>& right,
                                    size_experiments& again, evidence counted);

}  // namespace assay::properties
