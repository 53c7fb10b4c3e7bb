// Whether other precisions of an operation's stages explain all wrong elements: an implementation that computes some
// stage in less precision than it declares.
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
/// These stages are computed in the format of the tensors, which is less precise than the declared one. For tensors in
/// f32 or f64 a narrower format is tried too; then the errors must be correlated with those of plain arithmetic in it.
/// If several choices explain everything and allow as little, all are said. Wide allowances explain anything: judged by
/// what the choice allows the wrong elements, at most one in 1000 other faults may be explained by accident. Nothing if
/// no such formats explain the probes. Errors of the stages that are ruled out do not explain them alone. Precondition:
/// the probes are of one operation and dtype.
std::optional<std::string> precision_explanation_of(const std::vector<probe>& probes,
                                                    const std::set<std::string>& ruled_out = {});

}  // namespace assay::properties
