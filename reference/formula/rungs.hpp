// The results of one rung of the ladder, and of a law, for a program: evaluate.hpp and owner.hpp climb with these.
//
// Inputs are those that the program needs, with the same numbers of elements in row-major order, whatever their shapes;
// outputs have the shapes of the program. Each function throws evaluation_error (arrays.hpp).
#pragma once

#include "reference/formula/program.hpp"
#include "reference/formula_owner.hpp"

namespace assay::reference::formula {

/// The dtype to which a real output is rounded.
using storage_of = std::function<core::dtype(const std::string& output)>;

rung_outputs enclose(const program& p, const core::tensors& inputs, const storage_of& storage,
                     doubles doubles_per_number);
rung_outputs enclose(const program& p, const core::tensors& inputs, const storage_of& storage, unsigned digits);

/// The law of an element where the program gives no number.
enum class no_number { has_no_allowance, adds_nothing };
/// k of every element, and its magnitude without cancellation.
law_outputs law_of(const program& p, const core::tensors& inputs, const core::precisions& compute,
                   const std::vector<std::string>& stages, no_number without = no_number::has_no_allowance);

/// Plain arithmetic: every operation is rounded to the format of its stage, and the outputs to their storage.
core::tensors plain_arithmetic(const program& p, const core::tensors& inputs, const storage_of& storage,
                               const core::precisions& formats, const std::vector<std::string>& stages);

}  // namespace assay::reference::formula
