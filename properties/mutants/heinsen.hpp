// Wrong and right variants of Heinsen's operations, to gate the gate.
#pragma once

#include "properties/encodings.hpp"

namespace assay::properties {

std::vector<variant> heinsen_mutants();
/// Parts of the list: wrong steps and scans, wrong states at the ends, wrong derivatives, precision other than
/// declared, memory between calls,
/// settings.
std::vector<variant> heinsen_forward_mutants();
std::vector<variant> heinsen_state_mutants();
std::vector<variant> heinsen_gradient_mutants();
std::vector<variant> heinsen_block_mutants();
std::vector<variant> heinsen_precision_mutants();
std::vector<variant> heinsen_memory_mutants();
std::vector<variant> heinsen_setting_mutants();
std::vector<variant> heinsen_generated_mutants();
/// The right code that those were made from.
std::unique_ptr<implementation> heinsen_unmutated();
std::vector<variant> heinsen_controls();
/// Reports of bugs in log-sum-exp, scans and gates that these operations cannot show.
std::vector<unmodelled> heinsen_not_modelled();

}  // namespace assay::properties
