// Errors against the quantity with which they grow, with the laws of the accuracy classes: one inline SVG panel.
#pragma once

#include <string>

#include "properties/harness/runner.hpp"

namespace assay::tools {

/// Whether there is anything to draw.
bool has_chart(const properties::check_result& c);

/// Log-log; colours come from the page's style. `id` must be unique on the page.
std::string error_chart(const properties::check_result& c, const std::string& id);

}  // namespace assay::tools
