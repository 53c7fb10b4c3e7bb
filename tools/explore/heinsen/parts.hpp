// The measures of the recurrence, and the sentences and tables about them. measures.cpp puts them together.
#pragma once

#include <vector>

#include "tools/explore/measure.hpp"
#include "tools/explore/sentence_parts.hpp"

namespace assay::explore {

measure scan_errors();
measure running_sums();
measure counters();
measure merging_positions();
measure gradient_error();
measure gradient_reach();
measure conditioning();

// The answers in words. A sentence is given only if its facts hold in the cells.
sentences sentences_of_scans(const all_cells& cells);
sentences sentences_of_running_sums(const all_cells& cells);
sentences sentences_of_counters(const all_cells& cells);
sentences sentences_of_merging(const all_cells& cells);
sentences sentences_of_gradients(const all_cells& cells);
sentences sentences_of_reach(const all_cells& cells);
sentences sentences_of_conditioning(const all_cells& cells);

/// First, for the longest sequences with random gates, the number of tokens up to which k digits are kept. Then a map
/// for each format: the digits kept in each regime at the longest sequence measured there.
std::vector<heat_map> maps_of_scans(const std::vector<measured_cell>& cells);

}  // namespace assay::explore
