// Charts as SVG, for the page and for papers.
#pragma once

#include <string>

#include "tools/explore/figures.hpp"

namespace assay::explore {

/// Log-log: measured values as marks and lines, predicted ones dashed in the same colour, the second sweep hollow.
/// Colours come from the page's style. Every point has data-cell, data-x and data-y as stored.
std::string drawn(const chart& c);
/// The same as a separate file, with its style, on a white ground.
std::string standalone(const chart& c);
/// The style of charts, for light and dark.
std::string chart_style();

}  // namespace assay::explore
