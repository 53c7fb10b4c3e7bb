// A formula in plain arithmetic whose format changes from stage to stage.
#pragma once

#include "reference/accuracy_class.hpp"
#include "reference/core/operation.hpp"
#include "reference/core/precisions.hpp"

namespace assay::reference {

/// The algorithm that a class is named after, where the operation has one of its own; `sequential` is the formula as
/// written. Every operation is rounded to the format of its stage, and the outputs are rounded to storage once.
/// Precondition: there is one format for all stages, or one for each stage of the call's operation; c is not uniform.
core::tensors evaluate_in(const core::request& call, const core::precisions& formats,
                          accuracy_class c = accuracy_class::sequential);

}  // namespace assay::reference
