// Which conditions on sizes explain where one wrong case becomes right: read off experiments, not yet confirmed.
#pragma once

#include <optional>
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
/// the case right, where more than three axes do, or where no condition explains which sizes do.
std::optional<conditions_found> conditions_around(const probe& wrong, size_experiments& again);

}  // namespace assay::properties
