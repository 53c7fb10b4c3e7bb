// assay: verifies implementations of position encodings.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <exception>

#include "optimized/dispatch.hpp"
#include "tools/commands.hpp"

namespace assay::tools {

void complain(const std::string& message) { fmt::print(stderr, "assay: {}\n", message); }

namespace {

// CLI::Range lets NaN through.
const CLI::Validator finite(
    [](const std::string& text) {
      return text.find_first_of("nN") == std::string::npos ? std::string() : "must be a number";
    },
    "FINITE");

// CLI::AsSizeValue lets a minus sign wrap around, and conversion to a number saturates silently.
const CLI::Validator positive_size(
    [](const std::string& text) {
      const bool digits = text.find_first_of("123456789") != std::string::npos && text.front() != '-';
      return digits ? std::string() : "must be a positive size, such as 4GiB";
    },
    "SIZE");
const CLI::Validator fits_64_bits(
    [](const std::string& text) {
      std::uint64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      return error == std::errc() && end == text.data() + text.size() ? std::string()
                                                                      : "must be a whole number from 0 to 2^64 - 1";
    },
    "UINT64");

void add_limits(CLI::App& command, candidate_limits& limits) {
  command.add_option("--start-timeout", limits.start_seconds, "seconds a candidate may take to say hello")
      ->check(CLI::Range(0.001, 1e6) & finite);
  command.add_option("--case-timeout", limits.case_seconds, "seconds a candidate may take for one case")
      ->check(CLI::Range(0.001, 1e6) & finite);
  command.add_option("--memory-limit", limits.memory_bytes, "resident memory of the candidate, such as 4GiB")
      ->transform(positive_size)
      ->transform(CLI::AsSizeValue(false));
}

void add_candidate(CLI::App& command, std::string& candidate) {
  command.add_option("--candidate", candidate, "builtin:NAME or process:COMMAND")->required();
}

class golden_commands {
 public:
  explicit golden_commands(CLI::App& app)
      : group_(app.add_subcommand("golden", "tensors whose every value is proved")),
        make_(group_->add_subcommand("make", "makes a set from a recipe")),
        check_(group_->add_subcommand("check", "proves every value of a set again")),
        show_(group_->add_subcommand("show", "what is in a set")) {
    group_->require_subcommand(1);
    make_->add_option("--recipe", making_.recipe, "such as golden/recipes/heinsen.json")->required();
    make_->add_option("--out", making_.out, "a folder that does not exist yet")->required();
    check_->add_option("set", checking_.folder, "folder of a set")->required();
    check_->add_option("--against", checking_.against, "folder of your outputs, to be compared with the set");
    show_->add_option("set", showing_, "folder of a set")->required();
  }

  explicit operator bool() const { return group_->parsed(); }
  int run() const {
    if (make_->parsed()) return golden_make(making_);
    return check_->parsed() ? golden_check(checking_) : golden_show(showing_);
  }

 private:
  golden_make_options making_;
  golden_check_options checking_;
  std::filesystem::path showing_;
  CLI::App *group_, *make_, *check_, *show_;
};

int run(int argc, char** argv) {
  CLI::App app{"Assay verifies implementations of the log-linear recurrence and other position encodings."};
  app.set_version_flag("--version", ASSAY_VERSION);
  app.require_subcommand(1);
  int threads = 0;
  std::string target;
  app.add_option("--threads", threads, "threads of the optimized implementation (default: all cores)")
      ->check(CLI::PositiveNumber);
  app.add_option("--target", target, "instruction set of the optimized implementation (also: ASSAY_TARGET)");

  std::string what;
  CLI::App* list_command = app.add_subcommand("list", "what there is");
  list_command->add_option("what", what)
      ->check(CLI::IsMember({"encodings", "operations", "properties", "mutants", "families", "builtins"}));

  gate_options gating;
  CLI::App* gate_command = app.add_subcommand("gate", "a bug, or rounding? how many digits? up to which length?");
  add_candidate(*gate_command, gating.candidate);
  gate_command->add_option("--encoding", gating.encodings, "only this encoding; may be repeated");
  gate_command->add_option("--operation", gating.operations,
                           "only this operation and its derivatives; may be repeated");
  gate_command->add_option("--dtype", gating.dtypes, "only this dtype; may be repeated");
  gate_command->add_option("--property", gating.properties, "only this property; may be repeated");
  gate_command->add_option("--family", gating.families, "only cases of this family; may be repeated");
  gate_command->add_option("--effort", gating.effort, "quick or full")->capture_default_str();
  gate_command->add_option("--seed", gating.seed, "seed of all cases")->check(fits_64_bits)->capture_default_str();
  gate_command->add_option("--require-class", gating.require_class, "accuracy classes that are good enough")
      ->delimiter(',');
  gate_command->add_option("--baseline", gating.baseline, "an earlier report.json: nothing may have got worse");
  gate_command->add_option("--known-failures", gating.known_failures, "checks that are expected to fail, and must");
  gate_command->add_option("--report", gating.report, "folder of the report")->capture_default_str();
  add_limits(*gate_command, gating.limits);

  replay_options replaying;
  CLI::App* replay_command = app.add_subcommand("replay", "runs one stored case");
  replay_command->add_option("case", replaying.file, "a file of counterexamples/")->required();
  replay_command->add_flag("--strict", replaying.strict, "inputs outside the operation's domain are an error");
  add_candidate(*replay_command, replaying.candidate);
  add_limits(*replay_command, replaying.limits);

  golden_commands golden(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? all_passed : wrong_input;
  }
  if (threads > 0) optimized::set_threads(threads);
  if (!target.empty() && !optimized::force_target(target)) {
    complain("unknown or unsupported instruction set '" + target + "'");
    return wrong_input;
  }
  if (const auto active = optimized::active_target(); !active) {
    complain(active.error().message);
    return wrong_input;
  }
  if (*list_command) return list(what);
  if (*gate_command) return gate(gating);
  if (golden) return golden.run();
  return replay(replaying);
}

}  // namespace
}  // namespace assay::tools

int main(int argc, char** argv) {
  try {
    return assay::tools::run(argc, argv);
  } catch (const std::exception& e) {
    assay::tools::complain(fmt::format("a fault of Assay itself: {}", e.what()));
    return assay::tools::own_fault;
  }
}
