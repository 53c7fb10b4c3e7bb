#include <fmt/format.h>

#include "tools/gate/checks.hpp"
#include "tools/gate/verdict.hpp"

namespace assay::tools {

int gate(const gate_options& options) {
  const auto selected = select(options);
  if (!selected) {
    complain(selected.error().message);
    return wrong_input;
  }
  gate_report report{options.candidate, {}, options.seed, options.effort, {}, {}, {}, gate_verdict::broken};
  auto candidate = open_candidate(options.candidate, options.limits);
  if (!candidate && !candidate.error().candidate_is_at_fault) {
    complain(candidate.error().message);
    return wrong_input;
  }
  if (const auto writable = prepare_report(options.report); !writable) {
    complain(writable.error().message);
    return wrong_input;
  }
  if (candidate) {
    report.candidate = (*candidate)->describe();
    run_checks(**candidate, *selected, report);
    complain_about_missing(options, *selected, report);
    complain_about_gaps(*selected, report);
    report.verdict = verdict_of(report);
  } else {
    report.candidate.name = options.candidate;
    report.complaints.push_back("the candidate did not start: " + candidate.error().message);
  }
  if (const auto written = write_report(report, options.report); !written) {
    complain(written.error().message);
    return own_fault;
  }
  fmt::print("{}\nReport: {}\n", to_markdown(report), (options.report / "report.json").string());
  switch (report.verdict) {
    case gate_verdict::passed:
      return all_passed;
    case gate_verdict::failed:
      return check_failed;
    case gate_verdict::broken:
      return candidate_broke;
  }
  return own_fault;
}

}  // namespace assay::tools
