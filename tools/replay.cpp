#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/case_file.hpp"
#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/formula/formula_host.hpp"
#include "tools/report/report.hpp"
#include "tools/shared_options.hpp"

namespace assay::tools {
namespace {

void print_tensors(const char* title, const core::tensors& all) {
  if (!all.empty()) fmt::print("{}:\n{}\n", title, to_json(all).dump(1));
}

struct replay_options {
  std::filesystem::path file;
  std::string candidate;
  formula_options formula{};
  bool strict = false;  ///< inputs outside the operation's domain are an error
  candidate_limits limits;
};

int replay_case(const replay_options& options) {
  const auto stored = read_case(options.file);
  if (!stored) {
    complain(stored.error().message);
    return wrong_input;
  }
  if (options.strict)
    if (const auto ok = core::check_domain(*stored->value.call.operation, stored->value.call.inputs); !ok) {
      complain(options.file.string() + ": " + ok.error().message);
      return wrong_input;
    }
  auto candidate = open_candidate(options.candidate, options.limits);
  if (!candidate) {
    complain(candidate.error().message);
    return candidate.error().candidate_is_at_fault ? candidate_broke : wrong_input;
  }
  const core::operation& op = *stored->value.call.operation;
  if (!(*candidate)->describe().offers(op.name, stored->value.call.type)) {
    complain(fmt::format("the candidate does not offer {} in {}", op.name, core::name_of(stored->value.call.type)));
    return wrong_input;
  }
  const properties::outcome o = stored->checked->check(**candidate, stored->value);
  fmt::print("{}: {} {}\n", stored->checked->name, summary(stored->value), name_of(o.verdict));
  if (!o.message.empty()) fmt::print("{}\n", o.message);
  if (o.failure)
    if (const auto lines = stderr_lines(o.failure->errors); !lines.empty())
      fmt::print("its stderr ends:\n{}\n", fmt::join(lines, "\n"));
  print_tensors("expected", o.expected);
  print_tensors("actual", o.actual);
  // Nothing was checked: this does not count as a pass.
  if (o.verdict == properties::status::unsupported || o.verdict == properties::status::outside_domain)
    return check_failed;
  return o.verdict == properties::status::failed ? check_failed : all_passed;
}

}  // namespace

command_work replay_command(CLI::App& app) {
  auto options = std::make_shared<replay_options>();
  app.add_option("case", options->file, "a file of counterexamples/")->required();
  add_formula(app, options->formula);
  app.add_flag("--strict", options->strict, "inputs outside the operation's domain are an error");
  add_candidate(app, options->candidate);
  add_limits(app, options->limits);
  return [options](const program_options&) {
    return with_formula(options->formula, [&] { return replay_case(*options); });
  };
}

}  // namespace assay::tools
