// Faults that need the sizes of several axes together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/diagnosis/size_experiments.hpp"

namespace assay::properties {

/// " where n = h", " where n is more than 64 and d is odd": up to three conditions.
///
/// They are read off experiments around one wrong case. All wrong cases fulfil them, and no right case fulfils all of
/// them. Fresh cases beside each bound and far from it confirm them. If a few right cases fulfil them too, at most one
/// for five wrong ones, the words give the share that is wrong. Nothing if there are no such conditions. Precondition:
/// some cases are wrong, the smallest first.
std::optional<std::string> by_several_axes(const std::vector<const probe*>& wrong,
                                           const std::vector<const probe*>& right, size_experiments& again);

/// Whether a condition on one axis stands alone. The wrong case must be wrong at a wrong size of that axis with few
/// positions of every other axis too, and right at a right size with many. Only cases that are answered count.
bool stands_alone(const probe& wrong, const std::string& axis, std::size_t right_size, std::size_t wrong_size,
                  size_experiments& again);

/// Whether wrong cases are also wrong far behind a bound, in whole blocks too: some are, and none of them is right
/// there. Precondition: there are wrong cases.
bool holds_far_behind(const std::vector<const probe*>& wrong, const std::string& axis, std::size_t bound,
                      size_experiments& again);
/// Whether no wrong case is wrong far behind the bound.
bool is_right_far_behind(const std::vector<const probe*>& wrong, const std::string& axis, std::size_t bound,
                         size_experiments& again);

}  // namespace assay::properties
