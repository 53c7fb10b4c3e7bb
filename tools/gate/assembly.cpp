#include "tools/gate/assembly.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "tools/formula/formula_source.hpp"
#include "tools/gate/findings.hpp"
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

void add_part(const part_record& part, gate_report& report) {
  report.checks.insert(report.checks.end(), part.checks.begin(), part.checks.end());
  report.complaints.insert(report.complaints.end(), part.complaints.begin(), part.complaints.end());
  report.warnings.insert(report.warnings.end(), part.not_tried.begin(), part.not_tried.end());
  if (!part.seconds.empty()) report.seconds.emplace(part_name{part.operation->name, part.type}, part.seconds);
  if (part.horizon) report.horizons.push_back(*part.horizon);
  if (part.adapter) report.adapter_faults.push_back(*part.adapter);
  if (part.on_long_sequences) report.horizon_faults.push_back(*part.on_long_sequences);
}

std::vector<known_failure> failures_of_run_checks(const std::vector<known_failure>& known, const gate_report& report) {
  std::vector<known_failure> run;
  std::copy_if(known.begin(), known.end(), std::back_inserter(run), [&](const known_failure& k) {
    return std::any_of(report.checks.begin(), report.checks.end(), [&](const properties::check_result& c) {
      return c.checked->name == k.property && c.operation->name == k.operation && core::name_of(c.type) == k.dtype;
    });
  });
  return run;
}

}  // namespace

core::result<pins> read_pins(const gate_options& o) {
  pins p;
  if (!o.baseline.empty()) {
    auto baseline = read_report(o.baseline);
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

gate_report empty_report(const gate_options& o) {
  gate_report report;
  report.candidate_spec = o.candidate;
  report.candidate.name = o.candidate;
  if (const judged_formula* formula = formula_of_process()) report.formula = *formula;
  report.seed = o.seed;
  report.effort = o.effort;
  report.only_properties = o.properties;
  report.only_families = o.families;
  report.verdict = gate_verdict::broken;
  report.folder = o.report;
  report.limits = o.limits;
  report.run = run_started_now();
  report.part_of = o.shard;
  return report;
}

void assemble(const gate_options& options, const selection& selected, const std::vector<part_record>& parts,
              const pins& pinned, gate_report& report, const std::string& cut_short) {
  warn_about_hello(report);
  for (std::string& sentence : sizes_left_out(options, selected, report.candidate))
    report.warnings.push_back(std::move(sentence));
  for (const part_record& part : parts) add_part(part, report);
  complain_about_adapter(report);
  complain_about_missing(options, selected, report);
  if (cut_short.empty()) {
    complain_about_gaps(selected, parts, report);
    if (options.strict) complain_about_suspicions(report);
    if (pinned.baseline) compare_with_baseline(*pinned.baseline, options, report);
    compare_with_known_failures(pinned.known, options, report);
  } else {
    compare_with_known_failures(failures_of_run_checks(pinned.known, report), options, report);
  }
  report.verdict = verdict_of(report);
  if (!cut_short.empty()) {
    report.complaints.emplace_back(cut_short);
    if (report.verdict == gate_verdict::passed) report.verdict = gate_verdict::broken;
  }
  add_findings(parts, report);
}

int publish(const gate_report& report, const std::filesystem::path& folder, const std::string& output_format) {
  const auto summary = write_report(report, folder);
  if (!summary) return complain(summary.error().message), own_fault;
  // fmt::print would throw if nobody reads the output.
  std::fputs(fmt::format("{}\nReport: {}\n", *summary, (folder / "report.json").string()).c_str(), stdout);
  if (output_format == "github") std::fputs(to_github(report).c_str(), stdout);
  return exit_code_of(report.verdict);
}

}  // namespace assay::tools
