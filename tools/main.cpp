// assay: verifies implementations of position encodings.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>

#include "optimized/dispatch.hpp"
#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/transports/library_host.hpp"

namespace assay::tools {

void complain(const std::string& message) {
  std::fputs(fmt::format("assay: {}\n", message).c_str(), stderr);  // unlike fmt::print it does not throw
}

namespace {

const std::array commands{
    command{"list", "what there is", list_command},
    command{"find", "the operation that a model, a kernel or a function is", find_command},
    command{"gate", "a bug, or rounding? how many digits? up to which length?", gate_command},
    command{"check-formula",
            "a function of NumPy, torch or JAX as mathematics, and held against itself in f64, f32 and bf16",
            check_formula_command},
    command{"merge", "the reports of all shards of a gate as the report of one run", merge_command},
    command{"compare", "the reports of several candidates side by side", compare_command},
    command{"cases", "writes the cases of a gate, to be computed elsewhere", cases_command},
    command{transports::host_library_command, "", host_command, true},
    command{"replay", "runs one stored case", replay_command},
    command{"truth", "the correctly rounded outputs of a call of yours", truth_command},
    command{"judge", "are these outputs of a call of yours right?", judge_command},
    command{"serve", "answers questions about calls, one a line", serve_command, true},
    command{"mutants", "which property kills which wrong implementation", mutants_command},
    command{"detectability", "the smallest errors that are always caught", detectability_command},
    command{"bench", "how fast are scans, beside memory and beside peers?", bench_command},
    command{"golden", "tensors whose every value is proved", golden_command},
    command{"explore", "where, how and why an implementation loses its digits", explore_command}};

// Before a command works: kernels have their threads and an instruction set that the machine has. assay-bench, another
// program, chooses for itself.
bool choose_kernels(const program_options& options) {
  if (options.threads > 0) optimized::set_threads(options.threads);
  if (!options.target.empty() && !optimized::force_target(options.target)) {
    complain("unknown or unsupported instruction set '" + options.target + "'");
    return false;
  }
  const auto active = optimized::active_target();
  if (!active) complain(active.error().message);
  return active.has_value();
}

int run(std::vector<std::string> words) {
  CLI::App app{
      "Assay verifies implementations of position encodings of Transformers: is it right, and how many digits does it "
      "keep?",
      "assay"};
  app.footer(
      "Exit codes:\n"
      "  0  passed\n"
      "  1  a check failed\n"
      "  2  the command line or an input file is wrong\n"
      "  3  the candidate broke, or its declarations are wrong\n"
      "  4  a fault of Assay's own\n");
  app.set_version_flag("--version", ASSAY_VERSION);
  app.require_subcommand(1);
  program_options options;
  app.add_option("--threads", options.threads,
                 "threads of the optimized implementation and of sweeps (default: all cores)")
      ->check(CLI::PositiveNumber);
  app.add_option("--target", options.target, "instruction set of the optimized implementation (also: ASSAY_TARGET)");
  const command_work work = add_commands(app, commands);

  if (!words.empty() && words[0] == "help") {  // "help gate" is "gate --help"
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& e) {
    if (app.exit(e) == 0) return all_passed;
    if (const std::string near = mistyped(app, words); !near.empty()) complain(near);
    return wrong_input;
  }
  return app.got_subcommand("bench") || choose_kernels(options) ? work(options) : wrong_input;
}

}  // namespace
}  // namespace assay::tools

int main(int argc, char** argv) {
  try {
    return assay::tools::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& e) {
    assay::tools::complain(fmt::format("a fault of Assay itself: {}", e.what()));
    return assay::tools::own_fault;
  }
}
