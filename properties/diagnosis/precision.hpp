// Whether other precisions of the stages of an operation explain all that is wrong: an implementation that computes
// some stage in less than it declares.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "properties/diagnosis/probes.hpp"

namespace assay::properties {

/// "explained if angle (frequencies, positions and m theta) is computed in bf16: declare it (compute = ...), or mend
/// it": the fewest stages that explain every element of every wrong probe.
///
/// These stages are computed in the format of the tensors, which is less precise than what is declared of them. Beside
/// tensors in f32 or f64 a narrower format is tried, too; there the errors must be correlated with those of plain
/// arithmetic in it. Where several choices explain all and allow as little, all are said. Wide allowances explain
/// anything: by what they allow the wrong elements, no more than one in 1000 other faults may be explained by accident.
/// Nothing where no such formats explain the probes. Errors of the stages that are ruled out do not explain them alone.
/// Precondition: the probes are of one operation and dtype.
std::optional<std::string> precision_explanation_of(const std::vector<probe>& probes,
                                                    const std::set<std::string>& ruled_out = {});

}  // namespace assay::properties
