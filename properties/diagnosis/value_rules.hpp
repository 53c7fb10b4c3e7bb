// What all wrong cases have of one setting, or of two that compare: "layout = "half_split"", "base is not 1e+04",
// "length is less than trained_length".
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "properties/diagnosis/size_experiments.hpp"

namespace assay::properties {

struct value_rule {
  std::string words;
  std::function<bool(const core::attributes&)> holds;
  std::vector<core::attributes> others;   ///< values with which it would not be so
  std::vector<core::attributes> alike{};  ///< values with which it would

  [[nodiscard]] bool holds_in(const probe& p) const {
    return holds(core::completed(*p.c.call.operation, p.c.call.attributes));
  }
};

/// That a setting has one value, or another than the standard one, in all wrong cases. What is the size of an axis is
/// said of the axis: a width is wrong among others that were not tried.
std::vector<value_rule> rules_of_settings(const core::operation& op, const std::vector<const probe*>& wrong);
/// That a number is more, or less, than in all right cases: where of integers it turns, fresh cases tell.
std::vector<value_rule> rules_of_bounds(const core::operation& op, const std::vector<const probe*>& wrong,
                                        const std::vector<const probe*>& right, size_experiments& again);
/// That one of two numbers of one type is the other, or less, in all wrong cases.
std::vector<value_rule> rules_of_two_settings(const core::operation& op, const std::vector<const probe*>& wrong);

}  // namespace assay::properties
