// A formula in plain arithmetic whose format changes from stage to stage.
#pragma once

#include "reference/accuracy_class.hpp"
#include "reference/core/operation.hpp"
#include "reference/core/precisions.hpp"

namespace assay::reference {

/// The algorithm that a class is named after, where the operation has one of its own; that of `sequential` is the
/// formula as written. Every operation is rounded to the format of its stage, the outputs to storage once.
/// Precondition: the formats are of the stages of the call's operation, or one for all; c is not uniform.
core::tensors evaluate_in(const core::request& call, const core::precisions& formats,
                          accuracy_class c = accuracy_class::sequential);

}  // namespace assay::reference
