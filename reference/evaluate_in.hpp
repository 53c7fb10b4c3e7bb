// A formula in plain arithmetic whose format changes from stage to stage.
#pragma once

#include "reference/core/operation.hpp"
#include "reference/core/precisions.hpp"

namespace assay::reference {

/// The formula as written, every operation rounded to the format of its stage, the outputs rounded to storage once.
/// Precondition: the formats are of the stages of the call's operation, or one for all.
core::tensors evaluate_in(const core::request& call, const core::precisions& formats);

/// The same for one encoding. Compiled in instantiate/rounded.cpp.in.
template <class Encoding>
core::tensors run_formula(const core::request& call, const core::precisions& formats);

}  // namespace assay::reference
