// Whether other precisions of an operation's stages explain all wrong elements. If they do, the implementation computes
// some stage in less precision than it declares.
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
/// A choice is a set of stages and their format. If several choices explain everything and their allowances are about
/// equally small, the sentence names all of them. A wide allowance explains anything. Therefore a choice counts only if
/// it explains other faults by accident at most once in 1000, by what it allows the wrong elements. Returns nothing if
/// no choice explains the probes. Stages of `ruled_out` are not chosen without another stage. Precondition: the probes
/// are of one operation and dtype.
std::optional<std::string> precision_explanation_of(const std::vector<probe>& probes,
                                                    const std::set<std::string>& ruled_out = {});

}  // namespace assay::properties
