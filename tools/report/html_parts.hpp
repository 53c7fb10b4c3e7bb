// The parts of index.html. Each function returns finished HTML with all text escaped.
#pragma once

#include <string>

#include "tools/report/report.hpp"

namespace assay::tools {

/// The style sheet: light and dark, and narrow screens.
std::string page_style();

/// The smallest case of a failed check: inputs, expected, got, error and allowed, in one table for each shape.
/// Precondition: c.found.
std::string counterexample_tables(const gate_report& r, const properties::check_result& c);

std::string accuracy_table(const gate_report& r);
/// Error over allowance by family and dtype, one table for each operation, coloured like a map.
std::string family_tables(const gate_report& r);
std::string checks_table(const gate_report& r);

/// A table that scrolls by itself if the screen is too narrow for it.
std::string scrolling(const std::string& label, const std::string& table);

}  // namespace assay::tools
