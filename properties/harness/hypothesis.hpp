// A hypothesis on what is wrong with an implementation: a wrong model of an operation, and how to say it.
#pragma once

#include <functional>
#include <string>

#include "properties/harness/implementation.hpp"

namespace assay::properties {

struct hypothesis {
  std::string sentence;  ///< "the first token does not decay s0"
  std::function<bool(const core::operation&)> applies;
  /// What the wrong model gives for a call, in double. The inputs are finite, -inf or NaN, of the call's own dtype.
  std::function<core::tensors(const request& call)> predict;
};

}  // namespace assay::properties
