// Where among positions or distances a fault lies, element by element.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/diagnosis/size_experiments.hpp"

namespace assay::properties {

/// " from position 1024 on, and right up to position 1000": a place, or two, between wrong and right elements.
///
/// Of all elements that are numbers none on the right side is wrong, and at least half of those on the other side are.
/// Hardly any of these is of a right call; of `any` evidence none is. Fresh cases confirm it: wrong ones are right
/// where they are moved to the right side, and right ones wrong on the other. Nothing where there is no such place, or
/// where the elements of the operation have neither positions nor distances.
std::optional<std::string> by_reach(const std::vector<const probe*>& wrong, const std::vector<const probe*>& right,
                                    size_experiments& again, evidence counted);

}  // namespace assay::properties
