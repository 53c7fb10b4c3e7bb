// Between which positions or distances a fault lies, element by element.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/diagnosis/size_experiments.hpp"

namespace assay::properties {

/// " from position 1024 on, and right up to position 1000": a place, or two, between wrong and right elements.
///
/// Of all elements that are numbers, none on the right side is wrong, and at least half on the other side are. At most
/// three in ten of the calls with elements on the wrong side are right; with `any` evidence none is. Fresh cases
/// confirm the place: wrong ones are right when they are moved to the right side, and some right one is wrong on the
/// other side. Nothing if there is no such place, or if the elements of the operation have neither positions nor
/// distances.
std::optional<std::string> by_reach(const std::vector<const probe*>& wrong, const std::vector<const probe*>& right,
                                    size_experiments& again, evidence counted);

}  // namespace assay::properties
