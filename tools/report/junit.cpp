// junit.xml: one test suite for each operation and dtype, one test case for each property, for the views of CI servers.
// The vocabulary is that of jenkinsci/xunit-plugin, junit-10.xsd; tools/report/junit.xsd is the part that is used.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/report/escape.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {
namespace {

using properties::check_result;
using properties::status;

// The name of a test case, and its time.
struct test {
  std::string name;
  double seconds = 0;
};

struct suite {
  std::string name;
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;
  double seconds = 0;
  std::string cases{};

  /// `body`: elements of the test case, already escaped.
  void add(const test& t, const std::string& body) {
    ++tests;
    seconds += t.seconds;
    cases += fmt::format("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">\n{}  </testcase>\n",
                         escape_markup(name), escape_markup(t.name), t.seconds, body);
  }
  /// Adds a test that found a fault; for a broken candidate it is an error and not a failure.
  void add_fault(const test& t, bool broken, const complaint& found, const std::string& text) {
    ++(broken ? errors : failures);
    std::string said;
    for (const std::string& line : stderr_lines(found.errors)) said += escape_markup(line) + "\n";
    add(t, fmt::format("    <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n{4}", broken ? "error" : "failure",
                       escape_markup(found.kind), escape_markup(found.text), text,
                       said.empty() ? "" : "    <system-err>" + said + "</system-err>\n"));
  }
  void add_skipped(const test& t, const std::string& why, const std::string& about) {
    ++skipped;
    add(t, fmt::format("    <skipped message=\"{}\"/>\n", escape_markup(why)) + about);
  }
};

// The headline of a failed test: what is wrong, or else the first wrong element.
std::string headline(const gate_report& r, const check_result& c) {
  const auto faults = faults_of(r, c);
  return faults.empty() ? c.found->shown.message : fmt::format("{}", fmt::join(faults, "; "));
}

test test_of(const gate_report& r, const check_result& c) {
  const auto part_seconds = r.seconds.find({c.operation->name, c.type});
  if (part_seconds == r.seconds.end()) return {c.checked->name};
  const auto took = part_seconds->second.find(c.checked->name);
  return {c.checked->name, took == part_seconds->second.end() ? 0.0 : took->second};
}

void add_check(suite& to, const gate_report& r, const check_result& c) {
  const std::string about = fmt::format("    <system-out>{} of {} planned cases run, {} uninformative</system-out>\n",
                                        c.run(), c.planned, c.count(status::uninformative));
  const test t = test_of(r, c);
  if (const excused_check* excuse = excuse_of(r, c)) {
    to.add_skipped(t, "known to fail: " + excuse->reason, about);
  } else if (const check_result* cause = cause_of(r, c)) {
    to.add_skipped(
        t, fmt::format("fails by the fault that '{}' shows: {}", cause->checked->name, c.found->shown.message), about);
  } else if (c.found) {
    complaint found(headline(r, c));
    found.kind = failure_kind(c);
    if (c.found->shown.failure) found.errors = c.found->shown.failure->errors;
    to.add_fault(t, r.verdict == gate_verdict::broken, found,
                 escape_markup(c.found->shown.message) + "\n" + escape_markup(consequences_in_words(r, c)) + "\n" +
                     smallest_case_words(c) + ": " + escape_markup(summary(c.found->minimal)) +
                     "\nReplay: " + escape_markup(replay_command(r, c)));
  } else if (const std::string reason = reason_of(r, c); !reason.empty()) {
    to.add_skipped(t, reason, about);
  } else {
    to.add(t, about);
  }
}

// The run as a whole: red if something is missing, even if no check failed.
suite whole_run(const gate_report& r) {
  suite whole{"assay"};
  std::string findings;
  for (const std::string& f : r.findings) findings += escape_markup(f) + "\n";
  for (const std::string& n : notes_of(r)) findings += escape_markup(n) + "\n";
  const std::string about = findings.empty() ? "" : "    <system-out>" + findings + "</system-out>\n";
  if (r.complaints.empty()) whole.add({"the run is whole"}, about);
  for (std::size_t k = 0; k < r.complaints.size(); ++k)
    whole.add_fault({fmt::format("the run is whole, {}", k + 1)}, r.verdict == gate_verdict::broken, r.complaints[k],
                    escape_markup(r.complaints[k].text));
  return whole;
}

}  // namespace

std::string to_junit(const gate_report& r) {
  std::vector<suite> suites{whole_run(r)};
  for (const check_result& c : r.checks) {
    const std::string name = fmt::format("{} {}", c.operation->name, core::name_of(c.type));
    if (suites.back().name != name) suites.push_back({name});
    add_check(suites.back(), r, c);
  }
  suite total;
  std::string text;
  for (const suite& s : suites) {
    total.tests += s.tests;
    total.failures += s.failures;
    total.errors += s.errors;
    total.seconds += s.seconds;
    text += fmt::format(
        " <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n{} "
        "</testsuite>\n",
        escape_markup(s.name), s.tests, s.failures, s.errors, s.skipped, s.seconds, s.cases);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3f}\">\n{}</testsuites>\n",
      escape_markup(fmt::format("assay gate: {}: {}", candidate_title(r), name_of(r.verdict))), total.tests,
      total.failures, total.errors, total.seconds, text);
}

}  // namespace assay::tools
