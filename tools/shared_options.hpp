// Options that several commands have.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/commands.hpp"

namespace assay::tools {

/// "python:MODULE:FUNCTION".
CLI::Validator hosted_formula();
/// --axes
void add_axes(CLI::App& command, formula_options& formula);
/// --formula and --axes
void add_formula(CLI::App& command, formula_options& formula);
/// --candidate, which must be given.
void add_candidate(CLI::App& command, std::string& candidate);
/// --start-timeout, --case-timeout and --memory-limit
void add_limits(CLI::App& command, candidate_limits& limits);
/// The options that choose the cases: commands that run cases and commands that export cases share them.
void add_selection(CLI::App& command, gate_options& selected);
/// Selects only the user formula if one is given and neither an encoding nor an operation is named.
void select_own_formula(gate_options& selected);
/// --output-format
void add_output_format(CLI::App& command, std::string& format);
/// --seed: any number of 64 bits
void add_seed(CLI::App& command, std::uint64_t& seed);
/// --cases, at least 1.
void add_cases(CLI::App& command, std::size_t& cases, const char* what);
/// An option that may be repeated, or be a list with commas; the help says so.
void add_list(CLI::App& command, const char* option, std::vector<std::string>& values, const char* what);
/// "K/N" with 1 <= K <= N.
CLI::Validator shard_of_run();

}  // namespace assay::tools
