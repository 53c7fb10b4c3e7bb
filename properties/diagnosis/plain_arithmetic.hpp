// Whether wrong outputs err as plain arithmetic in narrow formats does.
#pragma once

#include <optional>
#include <vector>

#include "properties/diagnosis/probes.hpp"

namespace assay::properties::plain_arithmetic {

/// Whether most wrong elements became 0, or no number, where plain arithmetic in these formats gives numbers: a bound
/// as wide as the value allows such a loss, but does not explain it.
bool loses_otherwise(const probe& p, const core::precisions& formats);

/// The correlation of the errors with those of plain arithmetic in these formats, the mean over the elements of all
/// wrong probes: what rounds at the same places errs alike, whatever a law allows. 0 if chance gives as much (five
/// standard deviations), or if it is small.
/// With `narrow`, plain arithmetic gets its inputs rounded to it.
double correlation_with(const core::precisions& formats, const std::optional<core::dtype>& narrow,
                        const std::vector<probe>& probes);

}  // namespace assay::properties::plain_arithmetic
