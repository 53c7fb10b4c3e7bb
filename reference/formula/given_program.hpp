// A program that is there already, as an operation: one of its size alone.
#pragma once

#include <memory>
#include <string>

#include "reference/formula/owner.hpp"

namespace assay::reference::formula {

/// Reads a text as if it were hostile, and refuses what needs more work than half a minute or so in balls; a thousand
/// times that is possible where all elements need many digits.
core::result<program> read_given_program(const std::string& text);

/// The operation "formula/NAME". Its axes are numbers; its inputs are those of the first program, integers in i64. The
/// others are other ways to compute it (recorded_operation). A contract violation where the name is none or an output
/// is no real number.
std::unique_ptr<const program_owner> owner_of_program(const std::string& name, std::vector<program> ways);

}  // namespace assay::reference::formula
