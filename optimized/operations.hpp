// The optimized operations, by name: tensors in, tensors out. An encoding need not have any.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/dispatch.hpp"
#include "reference/core/attributes.hpp"
#include "reference/core/result.hpp"
#include "reference/core/tensor.hpp"

namespace assay::optimized {

/// What an operation is evaluated for: on arrays of f32 or f64, of some also f16 and bf16, with all settings that it
/// declares among those given. Its arrays lie without gaps; tests ask for others, to see that no operation minds.
struct arguments {
  core::dtype type;
  const core::tensors& inputs;
  const core::attributes& settings;
  execution on;
  std::size_t step = 1;  ///< elements from one to the next of a row
  std::size_t gap = 0;   ///< elements that nobody may write, behind every row and every block of rows
  /// Where it is set it is called, once the arrays are made, with the operation on these arrays alone: to time it.
  const std::function<void(const std::function<void()>& operation)>* timing = nullptr;

  template <class T>
  [[nodiscard]] const T& setting(const char* name) const {
    return core::setting<T>(settings, name);
  }
};

/// An implementation of the operation `name`. Precondition of `evaluate`: core::check_request accepts the call.
struct routine {
  std::string name;
  core::tensors (*evaluate)(const arguments& call);
  bool stored_in_16_bits = false;  ///< takes f16 and bf16, too

  [[nodiscard]] bool takes(core::dtype type) const {
    return type == core::dtype::f32 || type == core::dtype::f64 ||
           (stored_in_16_bits && (type == core::dtype::f16 || type == core::dtype::bf16));
  }
};

/// Those of all encodings that have kernels, each a `std::vector<routine> <encoding>_routines()` in
/// encodings/<encoding>/tensors.cpp.
const std::vector<routine>& routines();

/// The outputs of an operation on arrays of `type`, or an error: no such operation, no such dtype
/// here, or an instruction set in ASSAY_TARGET that this processor lacks. Precondition: core::check_request, and
/// `settings` holds all that the operation declares.
core::result<core::tensors> evaluate(std::string_view operation, core::dtype type, const core::tensors& inputs,
                                     const core::attributes& settings = {});

}  // namespace assay::optimized
