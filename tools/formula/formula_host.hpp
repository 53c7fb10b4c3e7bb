// Formulas of one's own for a gate: a Python function that says which program it is for sizes and settings
// (adapters/python/assay/formulas/host.py), as an operation "formula/NAME" among the others.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "reference/core/result.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

/// A formula broke while a gate ran: it cannot be traced at some sizes, hangs or dies. No candidate is at fault.
struct formula_fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Whether it is "python:MODULE:FUNCTION".
bool is_hosted_formula(const std::string& spec);

/// Adds the formula `spec`, "python:MODULE:FUNCTION", to the registry as an operation "formula/NAME", and families of
/// its inputs by rule. Before the first look-up of an operation. An error where it says nothing of its inputs or cannot
/// be traced.
core::result<judged_formula> add_hosted_formula(const std::string& spec);

/// The exit code that `run` gives. Where the formula `spec` breaks in it, this is said, and the code is 3; without a
/// formula ("") what is thrown goes on.
int telling_of_formula(const std::string& spec, const std::function<int()>& run);

}  // namespace assay::tools
