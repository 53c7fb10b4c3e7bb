// The optimized operations, by name. They take tensors and return tensors. An encoding may have none.
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

/// The arguments of an operation. The arrays are f32 or f64, for some operations also f16 and bf16. `settings` holds
/// all settings that the operation declares. Normally the arrays have no gaps; tests ask for other layouts, to check
/// that every operation accepts them.
struct arguments {
  core::dtype type;
  const core::tensors& inputs;
  const core::attributes& settings;
  execution on;
  std::size_t step = 1;  ///< number of elements from one element of a row to the next
  std::size_t gap = 0;   ///< number of elements behind every row and every block of rows that nobody may write
  /// If set, this function is called after the arrays are made. It receives the operation on these arrays alone, to
  /// time it.
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

/// The operations of all encodings that have kernels. Each encoding has a `std::vector<routine> <encoding>_routines()`
/// in encodings/<encoding>/tensors.cpp.
const std::vector<routine>& routines();

/// Returns the outputs of an operation on arrays of `type`, or an error. It is an error if there is no such operation,
/// if the operation does not take this dtype, or if ASSAY_TARGET names an instruction set that this processor lacks.
/// Precondition: core::check_request accepts the call, and `settings` holds all settings that the operation declares.
core::result<core::tensors> evaluate(std::string_view operation, core::dtype type, const core::tensors& inputs,
                                     const core::attributes& settings = {});

}  // namespace assay::optimized
