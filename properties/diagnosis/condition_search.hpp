// Which conditions on sizes explain where one wrong case becomes right: read off experiments, not yet confirmed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/diagnosis/size_condition.hpp"
#include "properties/diagnosis/size_experiments.hpp"

namespace assay::properties {

using conditions = std::vector<size_condition>;

struct conditions_found {
  conditions all;
  core::axis_sizes at;  ///< sizes of a wrong case, for which all of them hold
};

/// Each axis alone is given other sizes, and pairs of axes such that tell how they compare. Nothing where no size makes
/// the case right, where more than three axes do, or where no condition explains which sizes do. Before that the case
/// gets a larger size of one axis, if one is named: where d is not e and m is more than d, other sizes of d and e say
/// nothing beside a small m. Nothing where it is right there, or where no size of that axis matters.
std::optional<conditions_found> conditions_around(const probe& wrong, const std::optional<std::string>& larger,
                                                  size_experiments& again);

}  // namespace assay::properties
