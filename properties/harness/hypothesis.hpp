// The contribution of an encoding to the diagnosis of failures.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "properties/harness/implementation.hpp"

namespace assay::properties {

/// A hypothesis about an implementation's fault: a wrong model of an operation, and the sentence for it.
struct hypothesis {
  std::string sentence;  ///< "the first token does not decay s0"
  std::function<bool(const core::operation&)> applies;
  /// Returns the outputs of the wrong model for a call, in double. The inputs are finite, -inf or NaN, of the call's
  /// own dtype.
  std::function<core::tensors(const request& call)> predict;
};

/// The words for a fault that shows mainly on inputs of one family.
struct family_fact {
  std::string family;
  std::string gives;          ///< "a -inf prefix gives"; NaN, infinities or wrong values follow
  std::string as_infinity{};  ///< the whole sentence, if infinities say more
  std::string otherwise{};    ///< the whole sentence, if wrong values say more
  /// For a family with infinities in several inputs: the words if only the infinities of these inputs are the cause.
  std::map<std::set<std::string>, std::string> gives_by_inputs{};
};

}  // namespace assay::properties
