// Facts about a user formula that inputs of its families show and that its declaration does not state: the axes along
// which it is many independent functions, and whether another way to compute it gives the same function.
#pragma once

#include <string>
#include <vector>

#include "reference/formula/owner.hpp"

namespace assay::properties {

/// The sizes, with the sizes of axes that settings give.
core::axis_sizes with_settings(const core::operation& op, core::axis_sizes sizes, const core::attributes& settings);

/// The standard settings, and each setting away from its standard value, one at a time.
std::vector<core::attributes> each_setting_of(const core::operation& op);

/// The axes of rows and heads that all outputs have, along which one position alone gives the same bits as beside
/// others, in plain arithmetic in f64. They are tried on inputs of the families that formulas have, for each value of
/// each setting, with the other settings standard. Parts of a call are judged apart along these axes. An axis that
/// cannot have one position, or for which `r.record` throws, is not among them. `sizes`: of all axes but those that
/// settings give; a program exists at these sizes.
std::vector<std::string> independent_axes(const reference::formula::recorded_operation& r,
                                          const core::axis_sizes& sizes);

/// How many times the error of a formula in plain arithmetic in f32 is the error that a rounding of its inputs and
/// outputs explains; and the family of inputs for which this factor is largest.
struct lost_digits {
  double factor = 0.0;
  std::string family{};
};
lost_digits lost_by_steps(const reference::formula::recorded_operation& r, const core::axis_sizes& given_sizes);

/// The first place where another way to compute a formula gives another number: "y[0, 1] is 0.5, and 0.25 by it". Empty
/// if both ways give the same numbers, to f64, on such inputs. If one of them gives no number, nothing is compared, and
/// that way allows nothing there. If no call can be tried, the text says so.
std::string difference_of_way(const reference::formula::recorded_operation& r, std::size_t form,
                              const core::axis_sizes& sizes);

}  // namespace assay::properties
