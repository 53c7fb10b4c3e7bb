// What the commands of `assay golden` share. Each command has a file of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "golden/golden_set.hpp"
#include "tools/command_line.hpp"
#include "tools/commands.hpp"

namespace assay::tools {

struct golden_check_options {
  std::filesystem::path path;  ///< a file, a set or a folder of sets
  std::filesystem::path recipe, against;
  std::string arithmetic{};      ///< of the user's code, for f16 and bf16; empty: as the gate takes it
  std::filesystem::path page{};  ///< a page of what --against found; empty: none
  formula_options formula{};
};
/// The user's tensors against a set or a file that has been checked: a bug, or what class?
int golden_against(const golden_check_options& options);

/// The files of a set or of a folder of sets, or the file itself.
core::result<std::vector<std::filesystem::path>> golden_files_at(const std::filesystem::path& path);

/// A line on stderr with the progress of the work and the remaining time: overwritten on a terminal, else a new line
/// every ten seconds.
golden::progress golden_progress();
/// Ends the progress line.
void end_progress();

// Each adds the options of a command of `assay golden` and returns its work.
command_work golden_make_command(CLI::App& app);
command_work golden_check_command(CLI::App& app);
command_work golden_show_command(CLI::App& app);
command_work golden_find_command(CLI::App& app);
command_work golden_export_command(CLI::App& app);
command_work golden_kills_command(CLI::App& app);
command_work golden_index_command(CLI::App& app);

}  // namespace assay::tools
