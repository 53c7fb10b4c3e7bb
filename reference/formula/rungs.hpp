// What one rung of the ladder, and a law, say of a program: evaluate.hpp and owner.hpp climb with these.
//
// Inputs are those that the program asks for, with as many elements in row-major order, whatever their shapes; outputs
// have the shapes of the program. Each throws evaluation_error (arrays.hpp).
#pragma once

#include "reference/formula/program.hpp"
#include "reference/formula_owner.hpp"

namespace assay::reference::formula {

/// The dtype that a real output is rounded to.
using storage_of = std::function<core::dtype(const std::string& output)>;

rung_outputs enclose(const program& p, const core::tensors& inputs, const storage_of& storage, doubles of_number);
rung_outputs enclose(const program& p, const core::tensors& inputs, const storage_of& storage, unsigned digits);

/// What an element has where a program gives no number.
enum class no_number { has_no_allowance, adds_nothing };
/// k of every element, and its magnitude.
law_outputs law_of(const program& p, const core::tensors& inputs, const core::precisions& compute,
                   const std::vector<std::string>& stages, no_number without = no_number::has_no_allowance);

/// Every operation rounded to the format of its stage, and the outputs to their storage.
core::tensors plain_arithmetic(const program& p, const core::tensors& inputs, const storage_of& storage,
                               const core::precisions& formats, const std::vector<std::string>& stages);

}  // namespace assay::reference::formula
