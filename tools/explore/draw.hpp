// Charts as SVG, for the page and for papers.
#pragma once

#include <string>

#include "tools/explore/figures.hpp"

namespace assay::explore {

/// Log-log, the measured as marks and lines, the predicted dashed in the same colour, the second sweep hollow. Colours
/// come from the page's style. Every point has data-cell, data-x and data-y as stored.
std::string drawn(const chart& c);
/// The same as a file of its own, with its style in it, white ground.
std::string standalone(const chart& c);
/// The style of charts, for light and dark.
std::string chart_style();

}  // namespace assay::explore
