// Rules that all wrong cases share, in one setting or in two settings that compare: "layout = "half_split"", "base is
// not 1e+04", "length is less than trained_length".
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "properties/diagnosis/size_experiments.hpp"

namespace assay::properties {

struct value_rule {
  std::string words;
  std::function<bool(const core::attributes&)> holds;
  std::vector<core::attributes> others;   ///< values for which the rule does not hold
  std::vector<core::attributes> alike{};  ///< values for which the rule holds

  [[nodiscard]] bool holds_in(const probe& p) const {
    return holds(core::completed(*p.c.call.operation, p.c.call.attributes));
  }
};

/// Rules that a setting has one value, or another than the standard one, in all wrong cases. Settings that are the size
/// of an axis are left out, because the rules on sizes cover them.
std::vector<value_rule> rules_of_settings(const core::operation& op, const std::vector<const probe*>& wrong);
/// Rules that a number is more, or less, than in all right cases. For integers, fresh cases find the bound.
std::vector<value_rule> rules_of_bounds(const core::operation& op, const std::vector<const probe*>& wrong,
                                        const std::vector<const probe*>& right, size_experiments& again);
/// Rules that of two numbers of one type one equals the other, or is less, in all wrong cases.
std::vector<value_rule> rules_of_two_settings(const core::operation& op, const std::vector<const probe*>& wrong);

}  // namespace assay::properties
