// What is wrong beside plain arithmetic in narrow formats: whether it errs alike.
#pragma once

#include <optional>
#include <vector>

#include "properties/diagnosis/probes.hpp"

namespace assay::properties::plain_arithmetic {

/// Whether most of what is wrong became 0, or no number, where plain arithmetic in these formats gives numbers: a bound
/// that is as wide as the value allows a loss, and does not explain it.
bool loses_otherwise(const probe& p, const core::precisions& formats);

/// The correlation of the errors with those of plain arithmetic in these formats, the mean over the elements of all
/// wrong probes: what rounds at the same places errs alike, whatever a law allows. 0 where chance makes as much (five
/// standard deviations), or where it is small.
/// With `narrow`, plain arithmetic gets its inputs rounded to it.
double correlation_with(const core::precisions& formats, const std::optional<core::dtype>& narrow,
                        const std::vector<probe>& probes);

}  // namespace assay::properties::plain_arithmetic
