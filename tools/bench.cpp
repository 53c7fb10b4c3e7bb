// assay bench: a separate program, so that this one does not need Google Benchmark.
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/command_line.hpp"
#include "tools/commands.hpp"

namespace assay::tools {
namespace {

// The folder in which the program was built; empty for an installed one.
std::filesystem::path build_folder(const std::filesystem::path& program) {
  const std::filesystem::path folder = program.parent_path().parent_path();
  return std::filesystem::exists(folder / "CMakeCache.txt") ? folder : std::filesystem::path{};
}

// Becomes assay-bench, the program beside this one, where it was built (bench/).
int bench(std::vector<std::string> arguments, const program_options& options) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "assay-bench";
  if (!std::filesystem::exists(program)) {
    const std::filesystem::path built = build_folder(program);
    complain("there is no " + program.string() + ", which `assay bench` starts; " +
             (built.empty()
                  ? "packages and wheels have none: build it in a clone of Assay, with `tools/quickstart bench`"
                  : "build it: cmake --build " + built.string() + " --target assay_bench") +
             " (needs Google Benchmark, Debian: libbenchmark-dev)");
    return wrong_input;
  }
  if (options.threads > 0) arguments.insert(arguments.begin(), "--threads=" + std::to_string(options.threads));
  if (!options.target.empty()) arguments.insert(arguments.begin(), "--target=" + options.target);
  std::string name = program.string();
  std::vector<char*> words{name.data()};
  for (std::string& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  execv(name.c_str(), words.data());
  complain("cannot start " + name + ": " + std::strerror(errno));
  return own_fault;
}

}  // namespace

command_work bench_command(CLI::App& app) {
  app.prefix_command()->set_help_flag();  // assay-bench has its own
  return [&app](const program_options& options) { return bench(app.remaining(), options); };
}

}  // namespace assay::tools
