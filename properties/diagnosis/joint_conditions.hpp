// Where it takes the sizes of several axes together to be wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/diagnosis/size_experiments.hpp"

namespace assay::properties {

/// " where n = h", " where n is more than 64 and d is odd": up to three conditions.
///
/// They are read off experiments around one wrong case. All wrong cases fulfil them, and no right case fulfils all of
/// them. Fresh cases beside each bound and far from it confirm them. Where a few right cases fulfil them, too, at most
/// one for five wrong ones, the words say in how many of such cases it is wrong. Nothing where there are no such
/// conditions. Precondition: some are wrong, the smallest first.
std::optional<std::string> by_several_axes(const std::vector<const probe*>& wrong,
                                           const std::vector<const probe*>& right, size_experiments& again);

/// Whether a condition on one axis stands alone: the wrong case is wrong at a wrong size of that axis with few of every
/// other axis too, and right at a right one with many of them, as far as it answers.
bool stands_alone(const probe& wrong, const std::string& axis, std::size_t right_at, std::size_t wrong_at,
                  size_experiments& again);

/// Whether wrong cases are wrong far behind a bound as well, in whole blocks too, as far as they answer. Precondition:
/// there are some.
bool holds_far_behind(const std::vector<const probe*>& wrong, const std::string& axis, std::size_t bound,
                      size_experiments& again);
/// Whether none of them is wrong there.
bool is_right_far_behind(const std::vector<const probe*>& wrong, const std::string& axis, std::size_t bound,
                         size_experiments& again);

}  // namespace assay::properties
