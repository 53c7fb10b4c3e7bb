// What the errors of an operation grow with: digits are told along it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "reference/core/tensor.hpp"

namespace assay::core {

/// A number of a call, never negative, and how it is told.
struct error_growth {
  std::string_view quantity;  ///< "number of tokens"
  std::string_view at;        ///< where that number is {}: "position {}"
  /// Digits are told of mild inputs: others lose them however few tokens there are.
  bool of_mild_inputs = false;
  double (*of)(const tensors& inputs, const std::map<std::string, std::size_t>& sizes) = nullptr;

  /// "n = 1024", "position 2047"
  [[nodiscard]] std::string words(double x) const;
};

/// n: errors of steps and of prefix sums add up.
extern const error_growth with_tokens;
/// m: those of a softmax and its sums.
extern const error_growth with_keys;
/// The largest |position|: the error of an angle is proportional to it (position times a rounded frequency).
extern const error_growth with_position;
/// The largest |query_position - key_position|, or |distance|.
extern const error_growth with_distance;
/// The largest |s|: it is the exponent of what is computed.
extern const error_growth with_state;

}  // namespace assay::core
