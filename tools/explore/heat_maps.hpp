// The tables of a page, with a shade for each cell; used by figures.cpp.
#pragma once

#include <string>
#include <vector>

#include "tools/explore/figures.hpp"

namespace assay::explore {

/// Digits kept by regime at the longest sequence measured there, one map for each format.
std::vector<heat_map> digit_maps(const std::vector<measured_cell>& cells);
/// The number of tokens up to which k digits are kept, from the longest sequences with random gates.
heat_map horizon_map(const std::vector<measured_cell>& cells);
/// All results of a measure without a chart, and of measures with few results, beside their laws.
heat_map table_of(const std::string& measure, const std::vector<measured_cell>& cells);

}  // namespace assay::explore
