// Formulas of one's own for a gate: a Python function that says which program it is for sizes and settings
// (adapters/python/assay/formulas/host.py), as an operation "formula/NAME" among the others.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "tools/commands.hpp"

namespace assay::tools {

/// Whether it is "python:MODULE:FUNCTION".
bool is_hosted_formula(const std::string& spec);

/// The exit code that `run` gives, with the formula as the operation "formula/NAME" among the others
/// (formula_source.hpp). 3 where it says nothing of its inputs, cannot be traced, or breaks in `run`,
/// as may the formula of a case that it reads. Without any what is thrown goes on. Before the first look-up of an
/// operation. `tells_growth`: its errors are asked for by the number of its tokens, or else of its keys.
int with_formula(const asked_formula& asked, const std::function<int()>& run, bool tells_growth = false);

}  // namespace assay::tools
