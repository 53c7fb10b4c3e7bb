#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "tools/gate/checks.hpp"
#include "tools/gate/findings.hpp"
#include "tools/gate/interruption.hpp"
#include "tools/gate/pinning.hpp"
#include "tools/gate/verdict.hpp"

namespace assay::tools {
namespace {

int exit_code_of(gate_verdict v) {
  switch (v) {
    case gate_verdict::passed:
      return all_passed;
    case gate_verdict::failed:
      return check_failed;
    case gate_verdict::broken:
      return candidate_broke;
  }
  return own_fault;
}

gate_report empty_report(const gate_options& o) {
  gate_report report;
  report.candidate_spec = o.candidate;
  report.candidate.name = o.candidate;
  report.seed = o.seed;
  report.effort = o.effort;
  report.only_properties = o.properties;
  report.only_families = o.families;
  report.verdict = gate_verdict::broken;
  report.folder = o.report;
  report.limits = o.limits;
  report.run = run_started_now();
  return report;
}

// What a run is held against, besides the truth.
struct pins {
  std::optional<nlohmann::json> baseline;
  std::vector<known_failure> known;
};

core::result<pins> read_pins(const gate_options& o) {
  pins p;
  if (!o.baseline.empty()) {
    auto baseline = read_baseline(o.baseline);
    if (!baseline) return tl::make_unexpected(baseline.error());
    p.baseline = std::move(*baseline);
  }
  if (!o.known_failures.empty()) {
    auto known = read_known_failures(o.known_failures);
    if (!known) return tl::make_unexpected(known.error());
    p.known = std::move(*known);
  }
  return p;
}

void examine(properties::implementation& opened, const gate_options& options, const selection& selected,
             const pins& held_against, const interruption& signals, gate_report& report) {
  guarded_candidate candidate(opened, [&] { signals.throw_if_interrupted(); });
  report.candidate = candidate.describe();
  warn_about_hello(report);
  run_checks(candidate, selected, report);
  add_findings(candidate, report);
  complain_about_adapter(report);
  complain_about_missing(options, selected, report);
  complain_about_gaps(selected, report);
  if (held_against.baseline) compare_with_baseline(*held_against.baseline, options, report);
  compare_with_known_failures(held_against.known, report);
  report.verdict = verdict_of(report);
}

void report_no_start(const candidate_error& why, gate_report& report) {
  constexpr const char* did_not_start = "the candidate did not start: ";
  if (!why.failure) return report.complaints.push_back(did_not_start + why.message);
  report.start_fault = fault_of(*why.failure, nullptr, {}, "the start");
  const adapter_fault& f = *report.start_fault;
  report.complaints.emplace_back(did_not_start + f.name + ": " + f.message, f);
}

int run_gate(const gate_options& options, const interruption& signals) {
  const auto selected = select(options);
  if (!selected) return complain(selected.error().message), wrong_input;
  const auto held_against = read_pins(options);
  if (!held_against) return complain(held_against.error().message), wrong_input;
  gate_report report = empty_report(options);
  const auto started = std::chrono::steady_clock::now();
  auto candidate = open_candidate(options.candidate, options.limits);
  signals.throw_if_interrupted();
  if (!candidate && !candidate.error().candidate_is_at_fault) return complain(candidate.error().message), wrong_input;
  if (const auto writable = prepare_report(options.report); !writable)
    return complain(writable.error().message), wrong_input;
  if (candidate)
    examine(**candidate, options, *selected, *held_against, signals, report);
  else
    report_no_start(candidate.error(), report);
  signals.throw_if_interrupted();
  report.run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  const auto summary = write_report(report, options.report);
  if (!summary) return complain(summary.error().message), own_fault;
  fmt::print("{}\nReport: {}\n", *summary, (options.report / "report.json").string());
  return exit_code_of(report.verdict);
}

}  // namespace

int gate(const gate_options& options) {
  const auto signals = interruption::watch();
  if (!signals) return complain(signals.error().message), wrong_input;
  try {
    return run_gate(options, **signals);
  } catch (const interrupted& by) {
    complain(fmt::format("interrupted by signal {}: no report was written", by.signal));
    return 128 + by.signal;
  }
}

}  // namespace assay::tools
