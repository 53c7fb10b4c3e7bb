// What a gate run found, and its readings: report.json and junit.xml for machines, summary.md and index.html for
// people. All are made from the one value below, so that they cannot disagree.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/diagnosis/diagnose.hpp"
#include "properties/harness/horizon.hpp"
#include "properties/harness/runner.hpp"
#include "tools/commands.hpp"

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

/// How the candidate broke outside the checks.
struct adapter_fault {
  const core::operation* operation = nullptr;  ///< null where it did not start
  core::dtype type{};
  std::string kind;              ///< for programs: kind_of a properties::fault, or "nan_flood"
  std::string name;              ///< in words: name_of it, or "NaN flood"
  std::string message;           ///< what happened
  std::string on;                ///< in which case
  std::string errors{};          ///< the end of its stderr
  std::size_t calls = 1;         ///< that were made, of which this is one and none went better
  bool others_answered = false;  ///< and later calls were: the checks were run, and none met this again
};

/// `op` is null where the candidate did not start.
adapter_fault fault_of(const properties::call_failure& failure, const core::operation* op, core::dtype type,
                       const std::string& on);

/// A fault of the run as a whole, as a sentence.
struct complaint {
  complaint() = default;
  complaint(std::string sentence) : text(std::move(sentence)) {}
  complaint(std::string sentence, const adapter_fault& of)
      : text(std::move(sentence)), kind(of.kind), errors(of.errors) {}
  std::string text;
  std::string kind = "run";  ///< for programs: of the fault that it is about, else "run"
  std::string errors{};      ///< the end of the candidate's stderr
};

/// What came of one part of a run: an operation in a dtype. Everything in a report but what concerns the run as a whole
/// belongs to one part, so that parts can be run in other processes and put together again.
struct part_record {
  const core::operation* operation = nullptr;
  core::dtype type{};
  std::vector<properties::check_result> checks{};
  std::optional<measured_horizon> horizon{};
  std::vector<complaint> complaints{};
  std::optional<adapter_fault> adapter{}, on_long_sequences{};
  properties::diagnosis found{};            ///< of a part with a failed check
  std::vector<std::string> not_tried{};     ///< sizes that would have taken too long, a sentence each
  std::map<std::string, double> seconds{};  ///< that the checks took, by property
};

/// An operation in a dtype.
using part_name = std::pair<std::string, core::dtype>;

/// A failed check that was known to fail.
struct excused_check {
  std::string property, operation, dtype, reason;
};

/// The formula that a candidate was held against, where it was one of somebody's own.
struct judged_formula {
  std::string spec;
  nlohmann::json says{};                ///< what its host says of it first (adapters/python/assay/formulas/host.py)
  std::string sha256{};                 ///< of its programs at fixed sizes: another one is another truth
  std::vector<std::string> captured{};  ///< arrays that no input and no size accounts for, taken as they are
  std::string operation{};              ///< "formula/NAME"
  std::vector<std::string>
      other_ways{};  ///< functions that are the same (assay.same_as), whose roundings are right too

  /// A json::exception where it says no such thing.
  static judged_formula that_says(std::string spec, nlohmann::json says);
  /// At which it has a program, and its axes are told apart.
  [[nodiscard]] core::axis_sizes trial_sizes() const;
};

struct gate_report {
  std::string candidate_spec;
  std::optional<judged_formula> formula{};
  properties::description candidate;
  std::uint64_t seed = 0;
  std::string effort;
  std::vector<properties::check_result> checks;
  std::vector<measured_horizon> horizons;
  /// Faults of the run as a whole: an operation that executed no core check, a class not good enough.
  std::vector<complaint> complaints;
  gate_verdict verdict = gate_verdict::passed;
  /// What is wrong in plain language, one sentence each; may hold text of the candidate.
  std::vector<std::string> findings{};
  /// Those of a part whose checks failed, without its name.
  std::map<part_name, std::vector<std::string>> faults{};
  std::map<part_name, std::map<std::string, double>> seconds{};  ///< that the checks took, by property
  std::filesystem::path folder{};                                ///< of the report, as the user wrote it
  candidate_limits limits{};
  run_record run{};
  /// What looks like a mistake and fails nothing, such as an unknown operation in the candidate's hello.
  std::vector<std::string> warnings;
  std::optional<adapter_fault> start_fault{};
  /// Of first calls. Unless others were answered, the checks were not run.
  std::vector<adapter_fault> adapter_faults;
  /// On the long sequences that the horizon is measured on.
  std::vector<adapter_fault> horizon_faults{};
  std::vector<excused_check> excused;
  /// Where only part of the checks was asked for.
  std::vector<std::string> only_properties, only_families;
  shard part_of{};
  /// The golden sets that outputs were held against; empty where cases were drawn, of an effort and a seed.
  std::filesystem::path golden{};
  std::string golden_arithmetic{};  ///< that `golden check` was told of; empty: none
};

/// How many checks ended how.
struct check_counts {
  std::size_t checks = 0, passed = 0, failed = 0, uninformative = 0, skipped = 0;
  std::size_t consequences = 0;  ///< of the failed ones
};
check_counts count_checks(const gate_report& r);

/// "passed", "failed", "uninformative" or "skipped" (unsupported, or outside the declared domain).
const char* verdict_word(const properties::check_result& c);
/// "tree", "none: a bug", "none: near a bug" where it passed and no law explains it with the slack of a class, "one
/// algorithm" where the operation has no classes, or "not decided".
std::string class_word(const properties::check_result& c);
/// Whether all tensors of an operation are integers: nothing is rounded there, and a call has no dtype.
bool is_exact(const core::operation& op);
/// "f32", or "i64" of an operation on integers alone.
std::string dtype_word(const properties::check_result& c);
/// "7 digits up to position 15, 4 up to position 2047": properties::check_result::digits; empty where errors grow with
/// nothing.
std::string digits_in_words(const properties::check_result& c);
/// The largest ratio of error to 1.25 times the law of its class, or to the law where the operation has one algorithm;
/// nothing where nothing was decided.
std::optional<double> ratio_to_own_law(const properties::check_result& c);
/// The classes that the operation has, `uniform` among them; none where it has one algorithm.
std::vector<reference::accuracy_class> classes_of(const core::operation& op);
/// Those whose laws were looked at in every case: up to the one that explains the check, and the first two of a failed
/// one. Wider laws are computed for the cases that need them.
std::vector<reference::accuracy_class> classes_of(const properties::check_result& c);
/// In what an operation's ulps are: "max(1, |x|)", "|x|", or several of them.
std::string scale_words(const core::operation& op);
/// What an ulp is in the tables of a report.
inline constexpr const char* ulp_words =
    "An ulp is one of max(1, |x|) where values pass through zero, of |x| where they do not (slopes, frequencies, "
    "decays "
    "and biases), and of the largest |x| of a row that turns or is averaged as a whole.";
/// In ulp of the outputs' scales, of all cases of the check; 0 where the wrong value is no number.
double largest_error_ulp(const properties::check_result& c);
/// by_growth where cases of the check lie: the horizon tells digits of powers of two between them, and no law.
std::map<std::uint64_t, properties::error_there> drawn_growth(const properties::check_result& c);
/// The kind of failure that is no fault of the program: its outputs are wrong.
inline constexpr const char* wrong_result = "wrong_result";
/// How a failed check failed, for programs: kind_of the fault of the candidate, or wrong_result.
const char* failure_kind(const properties::check_result& c);
/// What a check saw refused: "does not take B = 0, nor n = 0: ValueError: no tokens".
std::string refusals_in_words(const properties::check_result& c);
using properties::without_digits;
/// The operations and reasons of calls that the candidate declined, each reason once.
std::vector<std::pair<std::string, std::string>> declined_calls(const gate_report& r);
/// Why a check that neither passed nor failed did not; empty for the others.
std::string reason_of(const gate_report& r, const properties::check_result& c);
/// The end of a stderr that a report shows: at most 20 lines and 2000 bytes, each line plain().
std::vector<std::string> stderr_lines(std::string_view errors);
/// What the candidate wrote to stderr before it ended or was stopped, each text once, and where that was.
struct stderr_excerpt {
  std::vector<std::string> places, lines;
};
std::vector<stderr_excerpt> stderr_excerpts(const gate_report& r);
/// More texts than these stand in report.json alone.
inline constexpr std::size_t stderr_shown = 4;
/// "value of heinsen/scan in f32", and how many more places.
std::string places_in_words(const stderr_excerpt& e);
/// The sentences alone.
std::vector<std::string> texts_of(const std::vector<complaint>& complaints);
/// "24 checks: 17 passed, 4 failed (3 of them by the fault of another), 3 uninformative"
std::string counts_in_words(const gate_report& r);
/// The checks that fail by the fault that this one has found.
std::vector<const properties::check_result*> consequences_of(const gate_report& r, const properties::check_result& c);
/// "This fault also fails 2 other checks: rotation_norms, shift."; empty where it fails no others.
std::string consequences_in_words(const gate_report& r, const properties::check_result& c);
/// The check that has found the fault by which this one fails; null where it fails by one of its own.
const properties::check_result* cause_of(const gate_report& r, const properties::check_result& c);
/// What is wrong with the operation of a failed check in its dtype, a sentence each: those of the report's head that
/// hold for it. None where another operation accounts for it.
std::vector<std::string> faults_of(const gate_report& r, const properties::check_result& c);
/// " Taken as it is from it: reference.py:12: an array [3]."; empty where nothing is.
std::string captured_in_words(const judged_formula& f);
/// The command that runs a counterexample again, or holds the outputs against the golden sets again, from the folder in
/// which the gate ran, quoted for a POSIX shell; with the limits on the candidate that were not the usual ones, as its
/// verdict may depend on them.
std::string replay_command(const gate_report& r, const properties::check_result& c);
/// What stands before the case of a failed check: laws make other calls of it.
const char* smallest_case_words(const properties::check_result& c);
/// By operation that was checked, then by input or setting, what the candidate takes: "finite", "in [-3, 3]",
/// "= "half_split"".
std::map<std::string, std::map<std::string, std::string>> narrower_domains(const gate_report& r);
/// Whether a setting that came later is asked for with its standard value alone: who never heard of it declares
/// nothing.
bool is_unnamed_convention(const std::string& operation, const std::string& setting,
                           const std::vector<core::attribute>& values);
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
/// Annotations of a job of GitHub Actions: an error for each fault, a warning for each warning, a line each.
std::string to_github(const gate_report& r);
std::string to_junit(const gate_report& r);
/// One self-contained page without scripts.
std::string to_html(const gate_report& r);

/// "value-rope-rotate-f32": of a check with a counterexample, on the page.
std::string failure_id(const properties::check_result& c);
/// File name of a counterexample in the folder counterexamples/.
std::string counterexample_name(const properties::check_result& c);

/// Makes the folder, without anything of an earlier run: it would be taken for this one's.
core::result<void> prepare_report(const std::filesystem::path& folder);

/// Writes report.json, junit.xml, summary.md, index.html and counterexamples/*.json, each under a temporary name first.
/// Returns the text of summary.md.
core::result<std::string> write_report(const gate_report& r, const std::filesystem::path& folder);

}  // namespace assay::tools
