// The commands of `assay`, one file each, and the options that several commands share. Each returns its exit code:
// 0 passed; 1 a check failed; 2 the command line or an input file is wrong; 3 the candidate broke;
// 4 a fault of Assay's own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/candidate.hpp"

namespace CLI {
class App;
}

namespace assay::tools {

struct program_options;

enum exit_code : int { all_passed = 0, check_failed = 1, wrong_input = 2, candidate_broke = 3, own_fault = 4 };

/// Shard `index` of `count`, from 1: every count-th part of a run.
struct shard {
  std::size_t index = 1, count = 1;
  bool is_kept = false;  ///< for `assay merge`
  [[nodiscard]] bool is_whole() const { return count == 1; }
};
/// Parses "2/7"; nothing if it is no shard.
std::optional<shard> parse_shard(const std::string& text);

/// A user formula against which the candidate is judged. If `spec` is empty, there is none.
struct formula_options {
  std::string spec{};               ///< "python:MODULE:FUNCTION"
  std::vector<std::string> axes{};  ///< "q=B h n d": axes that the declaration does not give, or gives differently
};

struct gate_options {
  std::string candidate;
  formula_options formula{};
  bool shows_formula = false;  ///< prints the formula as mathematics, and judges its own function by it
  std::vector<std::string> encodings, operations, dtypes, properties, families, require_class,
      require_digits;   ///< "6@131072": this many digits up to that length
  bool strict = false;  ///< suspicious errors fail
  std::string effort = "quick";
  std::vector<std::string> shapes;  ///< "B=8,n=4096,d=1024", in addition to those of the effort
  /// The most elements of a tensor, both at a shape of `shapes` and at a usual size.
  std::size_t most_elements = std::size_t{1} << 27;
  std::uint64_t seed = 1;
  candidate_limits limits;
  std::filesystem::path baseline, known_failures;  ///< empty: none
  std::filesystem::path report = "assay-report";
  std::string output_format = "markdown";
  tools::shard shard{};
};

/// Prints "assay: MESSAGE" on stderr.
void complain(const std::string& message);

/// The work of a command, once its options are read. It returns the exit code.
using command_work = std::function<int(const program_options&)>;
// Each adds the options of a command and returns its work (command_line.hpp).
command_work bench_command(CLI::App& app);
command_work cases_command(CLI::App& app);
command_work check_formula_command(CLI::App& app);
command_work compare_command(CLI::App& app);
command_work detectability_command(CLI::App& app);
command_work explore_command(CLI::App& app);
command_work find_command(CLI::App& app);
command_work gate_command(CLI::App& app);
command_work golden_command(CLI::App& app);
command_work host_command(CLI::App& app);
command_work judge_command(CLI::App& app);
command_work list_command(CLI::App& app);
command_work merge_command(CLI::App& app);
command_work mutants_command(CLI::App& app);
command_work replay_command(CLI::App& app);
command_work serve_command(CLI::App& app);
command_work truth_command(CLI::App& app);

}  // namespace assay::tools
