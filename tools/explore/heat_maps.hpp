// The tables of a page, with a shade for each cell: for figures.cpp.
#pragma once

#include <string>
#include <vector>

#include "tools/explore/figures.hpp"

namespace assay::explore {

/// Digits kept by regime at the longest sequence measured there, one map for each format.
std::vector<heat_map> digit_maps(const std::vector<measured_cell>& cells);
/// Up to how many tokens k digits are there: of the longest sequences with random gates.
heat_map horizon_map(const std::vector<measured_cell>& cells);
/// All results of a measure without a chart, and of those that are short anyway, beside their laws.
heat_map table_of(const std::string& measure, const std::vector<measured_cell>& cells);

}  // namespace assay::explore
