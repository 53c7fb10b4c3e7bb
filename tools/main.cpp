// assay: verifies implementations of position encodings.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <optional>

#include "optimized/dispatch.hpp"
#include "tools/commands.hpp"
#include "tools/explore_commands.hpp"
#include "tools/formula/formula_host.hpp"
#include "tools/formula/formula_options.hpp"
#include "tools/golden/commands.hpp"
#include "tools/judge/judge.hpp"
#include "tools/transports/library_host.hpp"
#include "tools/transports/near_names.hpp"

namespace assay::tools {

void complain(const std::string& message) {
  std::fputs(fmt::format("assay: {}\n", message).c_str(), stderr);  // unlike fmt::print it does not throw
}

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
      std::uint64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      return error == std::errc() && value > 0 ? std::string()
                                               : "must be a positive size below 2^64 bytes, such as 4GiB";
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

}  // namespace

std::optional<shard> parse_shard(const std::string& text) {
  shard s;
  const char* end = text.data() + text.size();
  const auto [slash, wrong_index] = std::from_chars(text.data(), end, s.index);
  if (wrong_index != std::errc() || slash == end || *slash != '/') return std::nullopt;
  const auto [last, wrong_count] = std::from_chars(slash + 1, end, s.count);
  if (wrong_count != std::errc() || last != end || s.index < 1 || s.index > s.count) return std::nullopt;
  s.is_kept = true;
  return s;
}

namespace {

const CLI::Validator shard_of_run(
    [](const std::string& text) {
      return parse_shard(text) ? std::string() : "must be K/N with 1 <= K <= N, such as 2/7";
    },
    "K/N");

void add_limits(CLI::App& command, candidate_limits& limits) {
  command
      .add_option(
          "--start-timeout", limits.start_seconds,
          "seconds of CPU time that a candidate's processes may take to say hello, ten times as long by the wall")
      ->check(CLI::Range(0.001, 1e6) & finite);
  command
      .add_option(
          "--case-timeout", limits.case_seconds,
          "seconds of CPU time that a candidate's processes may take for one case, ten times as long by the wall")
      ->check(CLI::Range(0.001, 1e6) & finite);
  command.add_option("--memory-limit", limits.memory_bytes, "resident memory of the candidate, such as 4GiB")
      ->transform(CLI::AsSizeValue(false))
      ->transform(positive_size);  // the last is applied first: it sees what the user wrote
}

void add_candidate(CLI::App& command, std::string& candidate) {
  command
      .add_option("--candidate", candidate,
                  "builtin:NAME, process:COMMAND, python:MODULE:FUNCTION[@OPERATION], library:PATH or recorded:DIR")
      ->required();
}

// Which cases: the same for those who run them and those who export them.
void add_selection(CLI::App& command, gate_options& selected) {
  command.add_option("--encoding", selected.encodings, "only this encoding; may be repeated, or a list with commas")
      ->delimiter(',');
  command
      .add_option("--operation", selected.operations,
                  "only this operation and its derivatives; may be repeated, or a list with commas")
      ->delimiter(',');
  command.add_option("--dtype", selected.dtypes, "only this dtype; may be repeated, or a list with commas")
      ->delimiter(',');
  command.add_option("--property", selected.properties, "only this property; may be repeated, or a list with commas")
      ->delimiter(',');
  command
      .add_option("--family", selected.families, "only cases of this family; may be repeated, or a list with commas")
      ->delimiter(',');
  command.add_option("--effort", selected.effort, "smoke, quick or full")->capture_default_str();
  command.add_option(
      "--shape", selected.shapes,
      "sizes of axes, such as B=8,n=4096,d=1024: every operation that has them all is tried there, too, and one must; "
      "may be repeated");
  command
      .add_option("--max-elements", selected.most_elements,
                  "of the largest tensor of such a shape; usual sizes of more are left out")
      ->capture_default_str();
  command.add_option("--seed", selected.seed, "seed of all cases")->check(fits_64_bits)->capture_default_str();
}

void add_output_format(CLI::App& command, std::string& format) {
  command
      .add_option("--output-format", format,
                  "of what is printed: markdown, or github, which adds annotations of a job of GitHub Actions")
      ->check(CLI::IsMember({"markdown", "github"}))
      ->capture_default_str();
}

// One call of an operation, as its inputs and the user say it.
void add_asked_call(CLI::App& command, asked_by_command& asked) {
  command.add_option("operation", asked.words.operation, "such as rope/rotate or rope/rotate:vjp")->required();
  command.add_option("--inputs", asked.words.inputs, "safetensors: the inputs, by their names")->required();
  command.add_option("--dtype", asked.words.dtype, "of the call, where the inputs do not tell");
  command.add_option("--set", asked.settings, "a setting, such as layout=half_split; may be repeated");
  command.add_option("--compute", asked.compute,
                     "the precision of the arithmetic, such as f32, or of stages: angle=f32,product=bf16");
  command.add_option("--class", asked.words.accuracy_class, "within the law of this accuracy class");
  command.add_option("--limit", asked.words.limit, "seconds that the truth may take, as far as that is known before")
      ->check(CLI::PositiveNumber);
}

// "'gat': near: gate" of the first command or option that there is none of, and that one is near.
std::string mistyped(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<const CLI::App*> chosen{&app};
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    const auto commands = chosen.back()->get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); });
    std::vector<std::string> known;
    if (!name.starts_with("--")) {
      const auto it =
          std::find_if(commands.begin(), commands.end(), [&](const auto* c) { return c->get_name() == name; });
      if (it != commands.end()) {
        chosen.push_back(*it);
        continue;
      }
      for (const CLI::App* c : commands) known.push_back(c->get_name());
    } else {
      for (const CLI::App* a : chosen)
        for (const CLI::Option* o : a->get_options())
          for (const std::string& known_name : o->get_lnames()) known.push_back("--" + known_name);
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    }
    const std::vector<std::string> near = transports::near_names(name, known);
    if (!near.empty()) return fmt::format("'{}': near: {}", name, fmt::join(near, ", "));
  }
  return "";
}

int run(int argc, char** argv) {
  CLI::App app{
      "Assay verifies implementations of position encodings of Transformers: is it right, and how many digits does it "
      "keep?"};
  app.footer(
      "Exit codes:\n"
      "  0  passed\n"
      "  1  a check failed\n"
      "  2  the command line or an input file is wrong\n"
      "  3  the candidate broke, or its declarations are wrong\n"
      "  4  a fault of Assay's own\n");
  app.set_version_flag("--version", ASSAY_VERSION);
  app.require_subcommand(1);
  int threads = 0;
  std::string target;
  app.add_option("--threads", threads, "threads of the optimized implementation and of sweeps (default: all cores)")
      ->check(CLI::PositiveNumber);
  app.add_option("--target", target, "instruction set of the optimized implementation (also: ASSAY_TARGET)");

  std::string what;
  asked_formula listed_formula;
  CLI::App* list_command = app.add_subcommand("list", "what there is");
  list_command->add_option("what", what)
      ->check(CLI::IsMember({"encodings", "operations", "stages", "properties", "mutants", "families", "builtins"}));
  std::vector<std::string> described;
  list_command->add_option("names", described, "of operations, or their encodings: what each input and setting is");
  bool as_json = false, as_markdown = false, as_page = false;
  list_command->add_flag("--json", as_json, "the operations for a program to read");
  add_formula(*list_command, listed_formula);
  list_command->add_flag("--markdown", as_markdown, "the encodings, or the operations, as a table for a document")
      ->excludes("--json");
  list_command->add_flag("--page", as_page, "the encodings as a page for a document, with a section for each")
      ->excludes("--json")
      ->excludes("--markdown");

  std::vector<std::string> wanted;
  bool find_as_markdown = false;
  CLI::App* find_command = app.add_subcommand("find", "the operation that a model, a kernel or a function is");
  find_command->add_option("words", wanted, "a name, such as: llama 3.1, flash_attn_func, apply_rotary_pos_emb");
  find_command->add_flag("--markdown", find_as_markdown, "all that is known, as tables for a document");

  gate_options gating;
  CLI::App* gate_command = app.add_subcommand("gate", "a bug, or rounding? how many digits? up to which length?");
  add_candidate(*gate_command, gating.candidate);
  add_selection(*gate_command, gating);
  add_formula(*gate_command, gating.formula);
  gate_command->add_option("--require-class", gating.require_class, "accuracy classes that are good enough")
      ->delimiter(',');
  gate_command
      ->add_option("--require-digits", gating.require_digits,
                   "digits that must be kept up to a length, such as 6@131072; may be repeated")
      ->delimiter(',');
  gate_command->add_flag("--strict", gating.strict, "an error that roundings hardly make fails, too");
  gate_command->add_option("--baseline", gating.baseline, "an earlier report.json: nothing may have got worse");
  gate_command->add_option("--known-failures", gating.known_failures, "checks that are expected to fail, and must");
  gate_command->add_option("--report", gating.report, "folder of the report")->capture_default_str();
  add_output_format(*gate_command, gating.output_format);
  add_limits(*gate_command, gating.limits);

  std::string shard_text;
  gate_command
      ->add_option("--shard", shard_text, "K/N: only every N-th part of the run, from the K-th on; see: assay merge")
      ->check(shard_of_run);

  gate_options checking;
  checking.shows_formula = true;
  checking.dtypes = {"f64", "f32", "bf16"};
  CLI::App* check_command = app.add_subcommand(
      "check-formula",
      "a function of NumPy, torch or JAX as mathematics, and held against itself in f64, f32 and bf16");
  check_command->add_option("formula", checking.formula.spec, "the function")->required()->check(hosted_formula());
  add_axes(*check_command, checking.formula);
  check_command->add_option("--report", checking.report, "folder of the report")->capture_default_str();

  merge_options merging;
  CLI::App* merge_command = app.add_subcommand("merge", "the reports of all shards of a gate as the report of one run");
  merge_command->add_option("shards", merging.shards, "folders of the reports")->required();
  merge_command->add_option("--baseline", merging.baseline, "an earlier report.json: nothing may have got worse");
  merge_command->add_option("--known-failures", merging.known_failures, "checks that are expected to fail, and must");
  merge_command->add_option("--report", merging.report, "folder of the merged report")->capture_default_str();
  add_output_format(*merge_command, merging.output_format);

  compare_options comparing;
  CLI::App* compare_command = app.add_subcommand("compare", "the reports of several candidates side by side");
  compare_command->add_option("reports", comparing.reports, "report.json of each, or its folder")->required();
  compare_command->add_option("--page", comparing.page, "writes the table as a page, too, such as compared.html");

  cases_options exporting;
  CLI::App* cases_command = app.add_subcommand("cases", "writes the cases of a gate, to be computed elsewhere");
  cases_command->add_option("--export", exporting.folder, "a folder that does not exist yet")->required();
  add_selection(*cases_command, exporting.selected);
  add_formula(*cases_command, exporting.selected.formula);

  // Started by the gate itself for library:PATH.
  std::filesystem::path library;
  CLI::App* host_command = app.add_subcommand(transports::host_library_command)->group("");
  host_command->add_option("library", library)->required();

  replay_options replaying;
  CLI::App* replay_command = app.add_subcommand("replay", "runs one stored case");
  replay_command->add_option("case", replaying.file, "a file of counterexamples/")->required();
  add_formula(*replay_command, replaying.formula);
  replay_command->add_flag("--strict", replaying.strict, "inputs outside the operation's domain are an error");
  add_candidate(*replay_command, replaying.candidate);
  add_limits(*replay_command, replaying.limits);

  asked_by_command asking;
  CLI::App* truth_command = app.add_subcommand("truth", "the correctly rounded outputs of a call of yours");
  CLI::App* judge_command = app.add_subcommand("judge", "are these outputs of a call of yours right?");
  add_asked_call(*truth_command, asking);
  add_asked_call(*judge_command, asking);
  truth_command->add_option("--out", asking.file, "safetensors: each output, and NAME:allowed, what it may err by")
      ->required();
  judge_command->add_option("--outputs", asking.file, "safetensors: your outputs, by their names")->required();
  judge_command->add_flag("--strict", asking.words.strict, "an error that roundings hardly make is wrong, too");
  CLI::App* serve_command = app.add_subcommand("serve", "answers such questions, one a line")->group("");
  std::vector<std::string> formula;
  serve_command->add_option("--formula", formula,
                            "NAME=FILE: a program that is the operation formula/NAME; FILE: another way to compute it");

  mutants_options killing;
  CLI::App* mutants_command = app.add_subcommand("mutants", "which property kills which wrong implementation");
  mutants_command->add_option("mutant", killing.names, "only these; see: assay list mutants");
  mutants_command
      ->add_option("--encoding", killing.encodings,
                   "only those of this encoding; may be repeated, or a list with commas")
      ->delimiter(',');
  add_formula(*mutants_command, killing.formula);
  mutants_command->add_option("--seed", killing.seed, "seed of all cases")->check(fits_64_bits)->capture_default_str();
  mutants_command->add_option("--cases", killing.cases, "cases per family and property")
      ->check(fits_64_bits)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  mutants_command->add_option("--out", killing.out, "folder of kills.md and kills.json")->capture_default_str();
  mutants_command->add_flag("--generated", killing.generated, "those made by rule, too (several minutes)");

  detectability_options detecting;
  CLI::App* detectability_command = app.add_subcommand("detectability", "the smallest errors that are always caught");
  detectability_command
      ->add_option("--dtype", detecting.dtypes, "only this dtype; may be repeated, or a list with commas")
      ->delimiter(',');
  detectability_command
      ->add_option("--operation", detecting.operations, "only this operation; may be repeated, or a list with commas")
      ->delimiter(',');
  detectability_command
      ->add_option("--golden", detecting.golden, "what allowances of golden sets let pass: their folder")
      ->check(CLI::ExistingDirectory);
  detectability_command->add_flag("--usual-sizes", detecting.usual_sizes,
                                  "how far allowances are beyond plain arithmetic at sizes that people run, and which "
                                  "wrong answers they let pass (f32)");
  detectability_command->add_option("--seed", detecting.seed, "seed of all cases")
      ->check(fits_64_bits)
      ->capture_default_str();
  detectability_command->add_option("--cases", detecting.cases, "short cases of each family")
      ->check(fits_64_bits)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();

  CLI::App* bench_command = app.add_subcommand("bench", "how fast are scans, beside memory and beside peers?");
  bench_command->prefix_command()->set_help_flag();  // assay-bench has its own

  golden_commands golden(app);
  explore_commands exploring(app);

  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "help") {  // "help gate" is "gate --help"
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  try {
    app.name("assay");  // words alone do not say it
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& e) {
    if (app.exit(e) == 0) return all_passed;
    if (const std::string near = mistyped(app, words); !near.empty()) complain(near);
    return wrong_input;
  }
  if (*bench_command) return bench(bench_command->remaining(), threads, target);
  if (threads > 0) optimized::set_threads(threads);
  if (!target.empty() && !optimized::force_target(target)) {
    complain("unknown or unsupported instruction set '" + target + "'");
    return wrong_input;
  }
  if (const auto active = optimized::active_target(); !active) {
    complain(active.error().message);
    return wrong_input;
  }
  if (*host_command) return transports::host_library(library);
  if (*find_command) return find(wanted, find_as_markdown);
  if (*list_command)
    return with_formula(listed_formula, [&] {
      return list(what, described,
                  as_json       ? list_format::json
                  : as_markdown ? list_format::markdown
                  : as_page     ? list_format::page
                                : list_format::text);
    });
  for (gate_options* o : {&gating, &checking, &exporting.selected})
    if (!o->formula.spec.empty() && o->operations.empty() && o->encodings.empty()) o->encodings = {"formula"};
  if (*cases_command) return cases(exporting);
  if (!shard_text.empty()) gating.shard = *parse_shard(shard_text);
  if (*gate_command) return gate(gating);
  if (*check_command) return gate(checking);
  if (*merge_command) return with_formula({}, [&] { return merge(merging); });
  if (*compare_command) return compare(comparing);
  if (golden) return with_formula(golden.formula(), [&] { return golden.run(); });
  if (exploring)
    return with_formula(
        exploring.formula(), [&] { return exploring.run(threads); }, true);
  if (*truth_command) return truth(asking);
  if (*judge_command) return judge(asking);
  if (*serve_command) return serve(formula);
  if (*mutants_command) {
    if (!killing.formula.spec.empty()) killing.encodings = {"formula"};
    return with_formula(killing.formula, [&] { return mutants(killing); });
  }
  if (*detectability_command) return detectability(detecting);
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
