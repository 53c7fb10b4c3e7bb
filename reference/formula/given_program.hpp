// An operation made from a given program: it has the sizes of this program alone.
#pragma once

#include <memory>
#include <string>

#include "reference/formula/owner.hpp"

namespace assay::reference::formula {

/// Reads a text as if it were hostile, and refuses a program that needs more work than half a minute or so in balls.
/// The time may be a thousand times as long where all elements need many digits.
///
///     const auto p = formula::read_given_program(text_of_a_file);
core::result<program> read_given_program(const std::string& text);

/// The operation "formula/NAME". Its axes are numbers. Its inputs are those of the first program; integers are in i64.
/// The other programs are other ways to compute it (recorded_operation). A contract violation where the name is not
/// allowed or an output is no real number.
///
///     const auto owner = formula::owner_of_program("capped_logit", {p});
std::unique_ptr<const program_owner> owner_of_program(const std::string& name, std::vector<program> ways);

}  // namespace assay::reference::formula
