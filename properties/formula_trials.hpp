// What the declaration of a formula of one's own does not say, and inputs of its families tell: along which axes it is
// many functions beside one another, and whether another way to compute it is the same function.
#pragma once

#include <string>
#include <vector>

#include "reference/formula/owner.hpp"

namespace assay::properties {

/// The sizes with those that settings are.
core::axis_sizes with_settings(const core::operation& op, core::axis_sizes sizes, const core::attributes& settings);

/// The standard settings, and each setting away from its standard value, one at a time.
std::vector<core::attributes> each_setting_of(const core::operation& op);

/// The axes of rows and heads that all outputs have, along which one position alone gives what it gives beside others,
/// in every bit of plain arithmetic in f64: tried on inputs of the families that formulas have, for each value of each
/// setting, the others as they are standard. Parts of a call are judged apart along them. An axis that cannot have one
/// position, or where `r.record` throws for it, is none of them. `sizes`: of all axes but those that settings are, at
/// which there is a program.
std::vector<std::string> independent_axes(const reference::formula::recorded_operation& r,
                                          const core::axis_sizes& sizes);

/// How much more the steps of a formula lose, in plain arithmetic in f32, than a rounding of its inputs and outputs
/// explains; and in which family most.
struct lost_digits {
  double factor = 0.0;
  std::string family{};
};
lost_digits lost_by_steps(const reference::formula::recorded_operation& r, const core::axis_sizes& sizes);

/// Where another way to compute a formula gives another number: "y[0, 1] is 0.5, and 0.25 by it". Empty where both are
/// the same, to f64, on such inputs. Where one of them has no number nothing is compared: that way allows nothing
/// there.
std::string difference_of_way(const reference::formula::recorded_operation& r, std::size_t form,
                              const core::axis_sizes& sizes);

}  // namespace assay::properties
