#include "tools/transports/python_host.hpp"

#include <cstdlib>
#include <stdexcept>

#include "golden/formats/file.hpp"
#include "golden/formats/temporary_folder.hpp"
#include "reference/oracle.hpp"
#include "tools/transports/declarations.hpp"
#include "tools/transports/near_names.hpp"

namespace assay::transports {
namespace {

constexpr const char* host_script = "python_candidate.py";

// Whether an operation follows the "@" at `sign`: a function must come before it. In the path a@b/model.py:scan, or in
// x:y/a@b/model.py:scan, none does.
bool names_operation(const std::string& text, std::size_t sign) {
  const std::string before = text.substr(0, sign), module = before.substr(0, before.rfind(':'));
  const bool is_path = module.find('/') != std::string::npos;
  return module.size() < before.size() && (!is_path || module.ends_with(".py"));
}

// The declarations of all operations, in a file that lives as long as this program: an argument has at most 128 KiB.
core::result<std::filesystem::path> file_of_declarations() {
  static const auto folder = formats::temporary_folder::make();
  if (!folder) return tl::make_unexpected(folder.error());
  std::filesystem::path path = folder->path() / "operations.json";
  if (!std::filesystem::exists(path))
    if (const auto written = formats::replace_file(path, declarations_json()); !written)
      return tl::make_unexpected(written.error());
  return path;
}

}  // namespace

std::string python_interpreter() {
  const char* chosen = std::getenv("ASSAY_PYTHON");
  return chosen != nullptr && *chosen != '\0' ? chosen : "python3";
}

std::filesystem::path python_package() {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path prefix = program.parent_path().parent_path(),
                              installed = prefix / "share/assay/python/assay";
  for (const std::filesystem::path& folder : {installed, prefix})
    if (std::filesystem::exists(folder / host_script)) return folder;
  throw std::runtime_error("the Python host is missing: " + program.string() + " expects " + host_script + " in " +
                           installed.string());
}

core::result<python_function> parse_python_function(const std::string& text) {
  const auto malformed = [&] {
    return core::failure("'python:" + text + "' must be python:MODULE:FUNCTION or python:MODULE:FUNCTION@OPERATION");
  };
  const auto sign = text.rfind('@');
  const bool named = sign != std::string::npos && names_operation(text, sign);
  const std::string place = named ? text.substr(0, sign) : text;
  const auto colon = place.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == place.size()) return malformed();
  python_function wanted{place.substr(0, colon), place.substr(colon + 1), named ? text.substr(sign + 1) : ""};
  if (!named) return wanted;
  if (wanted.operation.empty()) return malformed();
  if (const auto op = operation_named(wanted.operation); !op) return tl::make_unexpected(op.error());
  return wanted;
}

process_candidate::started start_python(const python_function& wanted, const process_limits& limits) {
  const auto declared = file_of_declarations();
  if (!declared) return tl::make_unexpected(start_error{declared.error()});
  return process_candidate::start(
      // -B: Python writes no files beside the user's modules.
      {python_interpreter(), "-B", (python_package() / host_script).string(), wanted.module, wanted.function,
       wanted.operation, declared->string()},
      "python:" + wanted.module + ":" + wanted.function + (wanted.operation.empty() ? "" : "@") + wanted.operation,
      limits);
}

}  // namespace assay::transports
