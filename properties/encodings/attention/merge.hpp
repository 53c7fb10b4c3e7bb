// Tests of attention/merge.
#pragma once

#include <vector>

#include "properties/harness/catalogue.hpp"

namespace assay::properties::encodings::attention {

std::vector<family> merge_families();
std::vector<variant> merge_mutants();
std::vector<variant> merge_controls();
std::vector<usual_size> merge_sizes();
std::vector<property> merge_laws();
/// Whether an lse is +inf although +inf does not mark a part without keys.
bool has_lse_out_of_place(const request& call);

}  // namespace assay::properties::encodings::attention
