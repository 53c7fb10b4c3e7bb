// assay host-library: what the gate itself starts for a candidate library:PATH.
#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/transports/library_host.hpp"

namespace assay::tools {

command_work host_command(CLI::App& app) {
  auto library = std::make_shared<std::filesystem::path>();
  app.add_option("library", *library)->required();
  return [library](const program_options&) { return transports::host_library(*library); };
}

}  // namespace assay::tools
