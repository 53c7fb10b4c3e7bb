// User formulas for a gate: a Python function that gives its program for sizes and settings
// (adapters/python/assay/formulas/host.py), as an operation "formula/NAME" among the others.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "tools/commands.hpp"

namespace assay::tools {

/// Whether the specification has the form "python:MODULE:FUNCTION".
bool is_hosted_formula(const std::string& spec);

/// Returns the exit code of `run`, with the formula as the operation "formula/NAME" among the others
/// (formula_source.hpp). Returns 3 if the formula says nothing about its inputs, cannot be traced, or fails in `run`;
/// the same holds for the formula of a case that `run` reads. Without a formula, exceptions pass through. Call it
/// before the first look-up of an operation. `tells_growth`: errors are reported by the number of tokens, or else of
/// keys.
int with_formula(const formula_options& options, const std::function<int()>& run, bool tells_growth = false);

}  // namespace assay::tools
