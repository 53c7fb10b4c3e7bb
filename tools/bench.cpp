// assay bench: a program of its own, so that this one does without Google Benchmark.
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/commands.hpp"

namespace assay::tools {

int bench(std::vector<std::string> arguments, int threads, const std::string& target) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "assay-bench";
  if (!std::filesystem::exists(program)) {
    complain("there is no " + program.string() +
             ": `assay bench` is built where Google Benchmark is installed (Debian: libbenchmark-dev)");
    return wrong_input;
  }
  if (threads > 0) arguments.insert(arguments.begin(), "--threads=" + std::to_string(threads));
  if (!target.empty()) arguments.insert(arguments.begin(), "--target=" + target);
  std::string name = program.string();
  std::vector<char*> words{name.data()};
  for (std::string& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  execv(name.c_str(), words.data());
  complain("cannot start " + name + ": " + std::strerror(errno));
  return own_fault;
}

}  // namespace assay::tools
