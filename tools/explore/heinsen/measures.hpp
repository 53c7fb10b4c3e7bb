// The log-linear recurrence (Heinsen 2024, eq. (3)) has measures of its own: streams of tokens, algorithms whose memory
// does not depend on the length, counters and gradients. The rest of explore uses only what this header declares.
#pragma once

#include <vector>

#include "tools/explore/measure.hpp"
#include "tools/explore/presentation.hpp"

namespace assay::explore {

std::vector<measure> measures_of_recurrence();
std::vector<finding> findings_of_recurrence();

}  // namespace assay::explore
