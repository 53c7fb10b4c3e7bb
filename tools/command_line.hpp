// The command line of `assay`: a table of commands, each with its options and its work in one file.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tools/commands.hpp"

namespace assay::tools {

/// The options that stand before the command.
struct program_options {
  int threads = 0;       ///< 0: all cores
  std::string target{};  ///< an instruction set; empty: the best that the machine has
};

/// A command. `declare` adds its options to `app` and returns its work.
///
///   command_work show_command(CLI::App& app) {
///     auto path = std::make_shared<std::string>();
///     app.add_option("path", *path, "a file")->required();
///     return [path](const program_options&) { return show(*path); };
///   }
struct command {
  const char* name;
  const char* what;  ///< a line of the help
  std::function<command_work(CLI::App& app)> declare;
  bool is_hidden = false;  ///< the help of the program does not list it
};

/// Adds commands to a program, or to a command that is a group of others. The work is that of the command that was
/// given. Precondition when it is called: one was given.
command_work add_commands(CLI::App& app, std::span<const command> all);

/// "'gat': near: gate": the first word that names no command and no option, where a known one is near; else empty.
std::string mistyped(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace assay::tools
