// Wrong and right variants of Heinsen's operations, to gate the gate.
#pragma once

#include "properties/harness/catalogue.hpp"

namespace assay::properties::encodings::heinsen {

std::vector<variant> mutants();
/// Parts of the list: wrong steps and scans, wrong states at the ends, wrong derivatives, precision other than
/// declared, memory between calls,
/// settings.
std::vector<variant> forward_mutants();
std::vector<variant> state_mutants();
std::vector<variant> gradient_mutants();
std::vector<variant> block_mutants();
std::vector<variant> precision_mutants();
std::vector<variant> memory_mutants();
std::vector<variant> setting_mutants();
/// Made by rule: a fault of the step, or of the adjoint's step, at some of the tokens.
std::vector<variant> generated_mutants();
std::vector<variant> controls();
/// s_i = max(log p_i + s_{i-1}, h_i): it knows the larger term and nothing of the sum. Of forward operations.
uninformed_answer maximum_for_sum();
/// Reports of bugs in log-sum-exp, scans and gates that these operations cannot show.
std::vector<unmodelled> not_modelled();

}  // namespace assay::properties::encodings::heinsen
