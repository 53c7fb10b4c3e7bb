// Measures of any operation. The rest of explore uses only what this header declares.
#pragma once

#include <vector>

#include "tools/explore/measure.hpp"
#include "tools/explore/presentation.hpp"

namespace assay::explore {

std::vector<measure> measures_of_operations();
std::vector<finding> findings_of_operations();

// For operation_documents.cpp.
measure operation_errors();
measure input_errors();
measure angle_errors();
measure repeated_rows();

}  // namespace assay::explore
