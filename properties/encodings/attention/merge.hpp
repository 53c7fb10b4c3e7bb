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
/// Whether an lse is +inf where that does not say that there are no keys.
bool has_lse_out_of_place(const request& call);

}  // namespace assay::properties::encodings::attention
