#include "tools/transports/python_host.hpp"

#include <cstdlib>
#include <stdexcept>

#include "tools/transports/declarations.hpp"

namespace assay::transports {
namespace {

constexpr const char* host_script = "assay_python.py";

std::string interpreter() {
  const char* chosen = std::getenv("ASSAY_PYTHON");
  return chosen != nullptr && *chosen != '\0' ? chosen : "python3";
}

}  // namespace

std::filesystem::path python_folder() {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path folder = program.parent_path().parent_path() / "share/assay/python";
  if (!std::filesystem::exists(folder / host_script))
    throw std::runtime_error("the Python host is missing: " + program.string() + " expects " + host_script + " in " +
                             folder.string());
  return folder;
}

core::result<python_function> parse_python_function(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size())
    return core::failure("'python:" + text + "' must be python:MODULE:FUNCTION");
  return python_function{text.substr(0, colon), text.substr(colon + 1)};
}

process_candidate::started start_python(const python_function& wanted, const process_limits& limits) {
  return process_candidate::start_program(
      // -B: nothing is written beside the user's modules.
      {interpreter(), "-B", (python_folder() / host_script).string(), wanted.module, wanted.function,
       declarations_json()},
      "python:" + wanted.module + ":" + wanted.function, limits);
}

}  // namespace assay::transports
