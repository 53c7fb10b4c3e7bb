// Whether other precisions of the stages of an operation explain all that is wrong: an implementation that computes
// some stage in less than it declares.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/diagnosis/probes.hpp"

namespace assay::properties {

/// "explained if angle (frequencies, positions and m theta) is computed in bf16: declare it (compute = ...), or mend
/// it": the fewest stages that explain every element of every wrong probe, where they are computed in the format of the
/// tensors, which is less precise than what is declared of them; beside tensors in f32 or f64 in a narrower format,
/// too, if the errors are correlated with those of plain arithmetic in it. All those that explain alike, by allowing as
/// little, are said. Wide allowances explain anything: by what they allow the wrong elements, no more than one in 1000
/// other faults may be explained by accident. Nothing where no such formats explain the probes. Precondition: the
/// probes are of one operation and dtype.
std::optional<std::string> precision_explanation_of(const std::vector<probe>& probes);

}  // namespace assay::properties
