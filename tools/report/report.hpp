// What a gate run found, and its readings: report.json and junit.xml for machines, summary.md and index.html for
// people. All are made from the one value below, so that they cannot disagree.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "properties/horizon.hpp"
#include "properties/support/runner.hpp"
#include "tools/candidate.hpp"

namespace assay::tools {

enum class gate_verdict { passed, failed, broken };
const char* name_of(gate_verdict v);

struct measured_horizon {
  const core::operation* operation = nullptr;
  core::dtype type{};
  properties::horizon found;
};

/// When and by what: the only part of a report that differs between two runs with the same seed.
struct run_record {
  std::string started;  ///< UTC, such as 2026-01-31T23:59:59Z
  double seconds = 0;
  std::string version;  ///< of Assay
};

/// Why the checks of an operation in a dtype were not run: not even a mild case or an empty one works.
struct adapter_fault {
  const core::operation* operation = nullptr;
  core::dtype type{};
  std::string kind;     ///< the name of a properties::fault, or "NaN flood"
  std::string message;  ///< what happened
  std::string on;       ///< in which case
};

/// A failed check that was known to fail.
struct excused_check {
  std::string property, operation, dtype, reason;
};

struct gate_report {
  std::string candidate_spec;
  properties::description candidate;
  std::uint64_t seed = 0;
  std::string effort;
  std::vector<properties::check_result> checks;
  std::vector<measured_horizon> horizons;
  /// Faults of the run as a whole: an operation that executed no core check, a class not good enough.
  std::vector<std::string> complaints;
  gate_verdict verdict = gate_verdict::passed;
  /// What is wrong in plain language, one sentence each; may hold text of the candidate.
  std::vector<std::string> findings{};
  std::filesystem::path folder{};  ///< of the report, as the user wrote it
  candidate_limits limits{};
  run_record run{};
  /// What looks like a mistake and fails nothing, such as an unknown operation in the candidate's hello.
  std::vector<std::string> warnings;
  std::vector<adapter_fault> adapter_faults;
  std::vector<excused_check> excused;
  /// Where only part of the checks was asked for.
  std::vector<std::string> only_properties, only_families;
};

/// How many checks ended how.
struct check_counts {
  std::size_t checks = 0, passed = 0, failed = 0, uninformative = 0, skipped = 0;
};
check_counts count_checks(const gate_report& r);

/// "passed", "failed", "uninformative" or "skipped" (unsupported, or outside the declared domain).
const char* verdict_word(const properties::check_result& c);
/// "tree", "none: a bug", or "-" where nothing was decided.
std::string class_word(const properties::check_result& c);
/// In ulp of max(1, |truth|), of all cases of the check; 0 where the wrong value is no number.
double largest_error_ulp(const properties::check_result& c);
/// Why a check that neither passed nor failed did not; empty for the others.
std::string reason_of(const properties::check_result& c);
/// "24 checks: 20 passed, 1 failed, 3 uninformative"
std::string counts_in_words(const gate_report& r);
/// The command that runs a counterexample again from the folder in which the gate ran, quoted for a POSIX shell;
/// with the limits on the candidate that were not the usual ones, as its verdict may depend on them.
std::string replay_command(const gate_report& r, const properties::check_result& c);
/// "finite", "at least -3", "in [-3, 3]".
std::string in_words(const properties::declared_domain& range);
/// What a reader must know besides the verdict: parts that were not asked for, known failures, warnings.
std::vector<std::string> notes_of(const gate_report& r);
/// Why a failed check does not fail the run; null where it does.
const excused_check* excuse_of(const gate_report& r, const properties::check_result& c);
/// "mutant/x 1": name and version.
std::string candidate_title(const gate_report& r);
run_record run_started_now();

/// schema assay-report/1. The last member says complete: a report without it is truncated.
nlohmann::ordered_json to_json(const gate_report& r);
std::string to_markdown(const gate_report& r);
std::string to_junit(const gate_report& r);
/// One self-contained page without scripts.
std::string to_html(const gate_report& r);

/// File name of a counterexample in the folder counterexamples/.
std::string counterexample_name(const properties::check_result& c);

/// Makes the folder, without anything of an earlier run: it would be taken for this one's.
core::result<void> prepare_report(const std::filesystem::path& folder);

/// Writes report.json, junit.xml, summary.md, index.html and counterexamples/*.json, each under a temporary name first.
core::result<void> write_report(const gate_report& r, const std::filesystem::path& folder);

}  // namespace assay::tools
