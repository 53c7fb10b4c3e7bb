// What an encoding contributes to the diagnosis of failures.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "properties/harness/implementation.hpp"

namespace assay::properties {

/// A hypothesis on what is wrong with an implementation: a wrong model of an operation, and how to say it.
struct hypothesis {
  std::string sentence;  ///< "the first token does not decay s0"
  std::function<bool(const core::operation&)> applies;
  /// What the wrong model gives for a call, in double. The inputs are finite, -inf or NaN, of the call's own dtype.
  std::function<core::tensors(const request& call)> predict;
};

/// How to say that mainly the inputs of one family go wrong.
struct family_fact {
  std::string family;
  std::string gives;          ///< "a -inf prefix gives"; NaN, infinities or wrong values follow
  std::string as_infinity{};  ///< the whole sentence, where infinities say more
  std::string otherwise{};    ///< the whole sentence, where wrong values say more
  /// Of a family that has infinities in several inputs: what gives it where those of these alone are the cause.
  std::map<std::set<std::string>, std::string> gives_by_inputs{};
};

}  // namespace assay::properties
