// The optimized implementation of every operation, by name: tensors in, tensors out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference/core/result.hpp"
#include "reference/core/tensor.hpp"

namespace assay::optimized {

/// An implementation of the operation `name`. Precondition of `evaluate`: core::check_inputs accepts the
/// inputs for that operation and dtype, the dtype is f32 or f64, and active_target() is no error.
struct routine {
  std::string name;
  core::tensors (*evaluate)(core::dtype type, const core::tensors& inputs);
};

/// Those of all encodings, each a `std::vector<routine> <encoding>_routines()` in encodings/<encoding>.cpp.
const std::vector<routine>& routines();

/// The outputs of an operation in the arithmetic of `type`, or an error: no such operation, no such dtype
/// here, or an instruction set in ASSAY_TARGET that this processor lacks. Precondition: core::check_inputs.
core::result<core::tensors> evaluate(std::string_view operation, core::dtype type, const core::tensors& inputs);

}  // namespace assay::optimized
