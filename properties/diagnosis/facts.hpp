// The facts that probes show if no entry of the dictionary explains them.
#pragma once

#include "properties/diagnosis/size_experiments.hpp"

namespace assay::properties {

/// "a -inf prefix gives NaN", "s_n alone is wrong on mild inputs from 17 tokens on". Each part is true of all probes
/// that it speaks of. Precondition: some probe is wrong.
std::string facts_of(const std::vector<probe>& probes, size_experiments& again);

/// "s, s_n are NaN", "s_n alone is wrong". Precondition: there is at least one probe, and all are wrong.
std::string what_is_wrong(const std::vector<const probe*>& wrong);

}  // namespace assay::properties
