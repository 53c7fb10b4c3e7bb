// The quantity with which the errors of an operation grow. Reports give the number of correct digits along it.
#pragma once

#include <optional>
#include <string>

#include "reference/core/roles.hpp"
#include "reference/core/tensor.hpp"

namespace assay::core {

/// A number of a call, never negative, and the words for it: the size of an axis, or how far elements are from 0 or
/// from one another.
struct error_growth {
  std::string quantity;              ///< "number of tokens"
  std::optional<axis_role> along{};  ///< the axis whose size it is; else it is the largest position or distance
  std::string value_words{};         ///< the words for one value of it; {} stands for the number: "position {}"
  /// Digits are reported for mild inputs alone: other inputs lose digits however few tokens there are.
  bool of_mild_inputs = false;

  /// The value of this quantity for a call; 0 where there is no finite position.
  [[nodiscard]] double value(const operation& op, const tensors& inputs, const axis_sizes& sizes) const;
  /// "n = 1024", "position 2047"
  [[nodiscard]] std::string words(const operation& op, double x) const;
};

/// Errors of steps and of prefix sums add up.
inline const error_growth with_tokens{
    .quantity = "number of tokens", .along = axis_role::token, .of_mild_inputs = true};
/// The errors of a softmax and its sums grow with the number of keys.
inline const error_growth with_keys{.quantity = "number of keys", .along = axis_role::key, .of_mild_inputs = true};
/// The largest |position|: the error of an angle is proportional to it (position times a rounded frequency).
inline const error_growth with_position{.quantity = "largest position", .value_words = "position {}"};
/// The largest distance of a key from a query.
inline const error_growth with_distance{.quantity = "largest distance", .value_words = "distance {}"};
/// The largest distance |s| where it is the exponent of what is computed.
inline const error_growth with_state{.quantity = "largest |s|", .value_words = "|s| = {}"};

}  // namespace assay::core
