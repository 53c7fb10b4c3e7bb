// What the commands of `assay explore` share: where, how and why an implementation loses its digits.
#pragma once

#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/explore/sweep.hpp"

namespace assay::tools {

/// The file of a sweep in its folder.
inline constexpr const char* sweep_file = "sweep.sqlite";

/// Makes a caller for one thread. It starts the program of each specification (`--candidate`) once.
explore::caller calling();
/// Says what is wrong, and returns the exit code.
int refuse(const core::error& e, int code = wrong_input);

// Each adds the options of a command of `assay explore` and returns its work.
command_work explore_list_command(CLI::App& app);
command_work explore_merge_command(CLI::App& app);
command_work explore_findings_command(CLI::App& app);
// The formula of a cell and --svg of a page may also be given before the command.
command_work explore_cell_command(CLI::App& app, formula_options& formula);
command_work explore_page_command(CLI::App& app, bool& figures);

}  // namespace assay::tools
