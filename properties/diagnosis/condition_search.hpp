// Searches for conditions on sizes that explain where one wrong case becomes right. The conditions come from
// experiments and are not yet confirmed.
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
  core::axis_sizes sizes;  ///< sizes of a wrong case at which all conditions hold
};

/// Tries other sizes of each axis alone, and other sizes of pairs of axes, which show how the two compare. Nothing if
/// no size makes the case right, if more than three axes do, or if no condition explains which sizes do. The case first
/// gets a larger size of the axis `enlarged`, if there is one: where d is not e and m is more than d, other sizes of d
/// and e say nothing while m is small. Nothing if the case is not wrong at that larger size, or if no size of that axis
/// matters.
std::optional<conditions_found> conditions_around(const probe& wrong, const std::optional<std::string>& enlarged,
                                                  size_experiments& again);

}  // namespace assay::properties
