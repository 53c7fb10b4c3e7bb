// The options of commands that take a formula of one's own.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/commands.hpp"

namespace assay::tools {

/// "python:MODULE:FUNCTION".
CLI::Validator hosted_formula();
/// --axes
void add_axes(CLI::App& command, asked_formula& asked);
/// --formula and --axes
void add_formula(CLI::App& command, asked_formula& asked);

}  // namespace assay::tools
