#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>

#include "reference/oracle.hpp"
#include "tools/command_line.hpp"
#include "tools/formula/formula_host.hpp"
#include "tools/formula/formula_source.hpp"
#include "tools/gate/assembly.hpp"
#include "tools/gate/checks.hpp"
#include "tools/gate/interruption.hpp"
#include "tools/gate/shard_file.hpp"
#include "tools/shared_options.hpp"

namespace assay::tools {
namespace {

/// A newly started candidate with its own limits: its faults do not count for the run.
class fresh_candidate final : public properties::implementation {
 public:
  fresh_candidate(std::unique_ptr<properties::implementation> opened, std::function<void()> around, double limit,
                  double memory)
      : opened_(std::move(opened)), guarded_(*opened_, std::move(around), limit, steady_seconds, memory) {}
  [[nodiscard]] const properties::description& describe() const override { return guarded_.describe(); }
  properties::call_result evaluate(const properties::request& call) override { return guarded_.evaluate(call); }

 private:
  std::unique_ptr<properties::implementation> opened_;
  guarded_candidate guarded_;
};

properties::fresh_start started_anew(const properties::description& about, const gate_options& options,
                                     const interruption& signals) {
  return [&]() -> std::unique_ptr<properties::implementation> {
    if (about.relayed) return nullptr;  // there is no other process to start
    auto opened = open_candidate(options.candidate, options.limits);
    if (!opened) return nullptr;
    return std::make_unique<fresh_candidate>(
        std::move(*opened), [&] { signals.throw_if_interrupted(); }, limit_of_calls(options.candidate, options.limits),
        static_cast<double>(options.limits.memory_bytes));
  };
}

double seconds_since(std::chrono::steady_clock::time_point started) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

// Runs the planned parts and fills the report from them. A shard also writes its parts to a file for `assay merge`.
core::result<void> examine(properties::implementation& opened, const gate_options& options, const selection& selected,
                           const pins& pinned, const interruption& signals,
                           std::chrono::steady_clock::time_point started, gate_report& report) {
  guarded_candidate candidate(
      opened, [&] { signals.throw_if_interrupted(); }, limit_of_calls(options.candidate, options.limits),
      steady_seconds, static_cast<double>(options.limits.memory_bytes));
  report.candidate = candidate.describe();
  const auto planned = plan_parts(candidate.describe(), selected, options.shard);
  std::vector<part_record> parts;
  try {
    run_parts(candidate, planned, selected, options.seed, started_anew(candidate.describe(), options, signals), parts);
  } catch (interrupted& by) {
    const std::string where =
        parts.empty() ? ""
                      : fmt::format(", in {} in {}", parts.back().operation->name, core::name_of(parts.back().type));
    assemble(options, selected, parts, pinned, report,
             fmt::format("interrupted by signal {} in part {} of {}{}: what follows was not judged", by.signal,
                         parts.size(), planned.size(), where));
    report.run.seconds = seconds_since(started);
    by.reported = publish(report, options.report, options.output_format) != own_fault;
    throw;
  }
  assemble(options, selected, parts, pinned, report);
  if (!options.shard.is_kept) return {};
  return write_shard({options, report.candidate, parts}, options.report);
}

void report_no_start(const candidate_error& why, gate_report& report) {
  constexpr const char* did_not_start = "the candidate did not start: ";
  if (!why.failure) return report.complaints.push_back(did_not_start + why.message);
  report.start_fault = fault_of(*why.failure, nullptr, {}, "the start");
  const adapter_fault& f = *report.start_fault;
  report.complaints.emplace_back(did_not_start + f.name + ": " + f.message, f);
}

// Arrays of megabytes are allocated and freed with every part of a large call. glibc would return each to the system,
// whose zeroed pages cost a quarter of the time of such a run (measured with 8 rows, 4096 tokens and 1024 features; the
// peak memory was the same).
void keep_freed_memory() {
#ifdef __GLIBC__
  // The second setting alone would keep the first at 128 KiB; before glibc 2.35 the first is refused.
  if (mallopt(M_MMAP_THRESHOLD, 1 << 28) == 1) mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

int run_gate(const gate_options& options, const interruption& signals) {
  keep_freed_memory();
  const auto selected = select(options);
  if (!selected) return complain(selected.error().message), wrong_input;
  if (options.shard.is_kept && !(options.baseline.empty() && options.known_failures.empty()))
    return complain("--baseline and --known-failures concern the whole run: give them to assay merge"), wrong_input;
  const auto pinned = read_pins(options);
  if (!pinned) return complain(pinned.error().message), wrong_input;
  gate_report report = empty_report(options);
  const auto started = std::chrono::steady_clock::now();
  auto candidate = open_candidate(options.candidate, options.limits);
  signals.throw_if_interrupted();
  if (!candidate && !candidate.error().candidate_is_at_fault) return complain(candidate.error().message), wrong_input;
  if (candidate)
    if (const auto fit = check_shapes(options, *selected, (*candidate)->describe()); !fit)
      return complain(fit.error().message), wrong_input;
  if (const auto writable = prepare_report(options.report); !writable)
    return complain(writable.error().message), wrong_input;
  if (candidate) {
    if (const auto kept = examine(**candidate, options, *selected, *pinned, signals, started, report); !kept)
      return complain(kept.error().message), own_fault;
  } else {
    report_no_start(candidate.error(), report);
  }
  signals.throw_if_interrupted();
  report.run.seconds = seconds_since(started);
  return publish(report, options.report, options.output_format);
}

// A trace only sees what the function does with arrays. Here the function itself runs against its program, in f64 or in
// the dtype to which it casts.
core::result<void> hold_against_function(const judged_formula& formula, const gate_options& options) {
  const auto itself = open_candidate(formula.spec + "@" + formula.operation, options.limits);
  if (!itself) return core::failure(itself.error().message);
  const core::operation& op = *reference::find_operation(formula.operation);
  const properties::description& about = (*itself)->describe();
  const core::dtype type = *core::dtype_named(formula.says.at("narrowest").get<std::string>());
  if (!about.offers(op.name, type)) return {};
  const auto& all = properties::properties();
  const auto values = std::find_if(all.begin(), all.end(),
                                   [&](const properties::property& p) { return p.decides_class && p.applies(op); });
  constexpr std::size_t few = 3;
  const auto size = properties::extent(properties::lengths::exactly, few);
  const auto c = properties::make_case(properties::mild_key_for(about, op, type, options.seed, size));
  const properties::outcome o = values->check(**itself, c);
  if (o.verdict != properties::status::failed || o.failure) return {};
  return core::failure(
      fmt::format("the formula {} gives other numbers than the program that was traced from it: {}. It depends on "
                  "something that was not traced, such as an earlier call or the numbers of an input",
                  formula.spec, o.message));
}

int gate(const gate_options& requested) {
  const auto signals = interruption::watch();
  if (!signals) return complain(signals.error().message), wrong_input;
  gate_options options = requested;
  try {
    return with_formula(options.formula, [&] {
      const judged_formula* formula = formula_of_process();
      if (options.shows_formula) {
        fmt::print("{}\n", mathematics_of_formula());
        for (const std::string& line : formula->captured) fmt::print("taken as it is: {}\n", line);
        // The formula is judged against its function anyway.
        options.candidate = options.formula.spec + "@" + formula->operation;
        // A function that casts to a narrower dtype is judged in that dtype alone.
        const std::string narrowest = formula->says.at("narrowest");
        if (narrowest != "f64") options.dtypes = {narrowest};
      } else if (formula != nullptr) {
        if (const auto same = hold_against_function(*formula, options); !same)
          return complain(same.error().message), static_cast<int>(candidate_broke);
      }
      return run_gate(options, **signals);
    });
  } catch (const interrupted& by) {
    complain(fmt::format("interrupted by signal {}: {}", by.signal,
                         by.reported ? "the report has what was judged before" : "no report was written"));
    return 128 + by.signal;
  }
}

}  // namespace

command_work gate_command(CLI::App& app) {
  auto options = std::make_shared<gate_options>();
  auto shard_text = std::make_shared<std::string>();
  add_candidate(app, options->candidate);
  add_selection(app, *options);
  add_formula(app, options->formula);
  app.add_option("--require-class", options->require_class, "accuracy classes that are good enough")->delimiter(',');
  app.add_option("--require-digits", options->require_digits,
                 "digits that must be kept up to a length, such as 6@131072; may be repeated")
      ->delimiter(',');
  app.add_flag("--strict", options->strict, "an error that roundings hardly make fails, too");
  app.add_option("--baseline", options->baseline, "an earlier report.json: nothing may have got worse");
  app.add_option("--known-failures", options->known_failures, "checks that are expected to fail, and must");
  app.add_option("--report", options->report, "folder of the report")->capture_default_str();
  add_output_format(app, options->output_format);
  add_limits(app, options->limits);
  app.add_option("--shard", *shard_text, "K/N: only every N-th part of the run, from the K-th on; see: assay merge")
      ->check(shard_of_run());
  return [options, shard_text](const program_options&) {
    if (!shard_text->empty()) options->shard = *parse_shard(*shard_text);
    select_own_formula(*options);
    return gate(*options);
  };
}

command_work check_formula_command(CLI::App& app) {
  auto options = std::make_shared<gate_options>();
  options->shows_formula = true;
  options->dtypes = {"f64", "f32", "bf16"};
  app.add_option("formula", options->formula.spec, "the function")->required()->check(hosted_formula());
  add_axes(app, options->formula);
  app.add_option("--report", options->report, "folder of the report")->capture_default_str();
  return [options](const program_options&) {
    select_own_formula(*options);
    return gate(*options);
  };
}

}  // namespace assay::tools
