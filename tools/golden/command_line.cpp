#include "tools/command_line.hpp"

#include <array>

#include "tools/golden/commands.hpp"

namespace assay::tools {

command_work golden_command(CLI::App& app) {
  static const std::array commands{
      command{"make", "makes a set from a recipe, or all sets from a folder of recipes", golden_make_command},
      command{"check", "proves every value again; compares your outputs", golden_check_command},
      command{"show", "what is in a set, or in one file", golden_show_command},
      command{"find", "the files of an operation, a dtype, a flag", golden_find_command},
      command{"export", "files as .npy or JSON", golden_export_command},
      command{"kills", "which files reveal which wrong implementation", golden_kills_command},
      command{"index", "writes index.json of a folder of sets", golden_index_command}};
  app.require_subcommand(1);
  return add_commands(app, commands);
}

}  // namespace assay::tools
