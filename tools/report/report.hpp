// The results of a gate run, and its documents: report.json and junit.xml for machines, summary.md and index.html for
// people. All are made from the one value below, so they cannot disagree.
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

/// When and by which version: the only part of report.json that differs between two runs with the same seed.
struct run_record {
  std::string started;  ///< UTC, such as 2026-01-31T23:59:59Z
  double seconds = 0;
  std::string version;  ///< version of Assay
};

/// A failure of the candidate outside the checks.
struct adapter_fault {
  const core::operation* operation = nullptr;  ///< null if the candidate did not start
  core::dtype type{};
  std::string kind;              ///< for programs: kind_of a properties::fault, or "nan_flood"
  std::string name;              ///< in plain words: name_of the fault, or "NaN flood"
  std::string message;           ///< what happened
  std::string on;                ///< the case in which it happened
  std::string errors{};          ///< the end of its stderr
  std::size_t calls = 1;         ///< the number of calls made; this is one of them, and none went better
  bool others_answered = false;  ///< later calls were answered: the checks ran, and none met this fault again
};

/// `op` is null if the candidate did not start.
adapter_fault fault_of(const properties::call_failure& failure, const core::operation* op, core::dtype type,
                       const std::string& on);

/// A fault of the run as a whole, as a sentence.
struct complaint {
  complaint() = default;
  complaint(std::string sentence) : text(std::move(sentence)) {}
  complaint(std::string sentence, const adapter_fault& cause)
      : text(std::move(sentence)), kind(cause.kind), errors(cause.errors) {}
  std::string text;
  std::string kind = "run";  ///< for programs: the kind of its fault, else "run"
  std::string errors{};      ///< the end of the candidate's stderr
};

/// The results of one part of a run: an operation in a dtype. Everything in a report except what concerns the whole run
/// belongs to one part, so parts can run in other processes and be put together again.
struct part_record {
  const core::operation* operation = nullptr;
  core::dtype type{};
  std::vector<properties::check_result> checks{};
  std::optional<measured_horizon> horizon{};
  std::vector<complaint> complaints{};
  std::optional<adapter_fault> adapter{}, on_long_sequences{};
  properties::diagnosis found{};            ///< the diagnosis, if a check failed
  std::vector<std::string> not_tried{};     ///< sizes that would have taken too long; one sentence each
  std::map<std::string, double> seconds{};  ///< time of the checks, by property
};

/// An operation in a dtype.
using part_name = std::pair<std::string, core::dtype>;

/// A failed check that is listed as a known failure.
struct excused_check {
  std::string property, operation, dtype, reason;
};

/// The user formula against which a candidate was judged.
struct judged_formula {
  std::string spec;
  /// The description by its host, in its first line (adapters/python/assay/formulas/host.py).
  nlohmann::json says{};
  std::string sha256{};                 ///< hash of its programs at fixed sizes: another hash is another truth
  std::vector<std::string> captured{};  ///< arrays that come from no input and no size; they are taken as they are
  std::string operation{};              ///< "formula/NAME"
  std::vector<std::string>
      other_ways{};  ///< other ways to compute the same function (assay.same_as), whose roundings are right too

  /// Throws json::exception if `says` is no such description.
  static judged_formula that_says(std::string spec, nlohmann::json says);
  /// Sizes at which it has a program, and at which its axes differ.
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
  /// Faults of the run as a whole: an operation that no check compared with the truth, a class that is not good enough.
  std::vector<complaint> complaints;
  gate_verdict verdict = gate_verdict::passed;
  /// Plain sentences: each fault, then the rounding and the digits of parts that passed, then calls that the candidate
  /// refuses. They may contain text of the candidate.
  std::vector<std::string> findings{};
  /// The sentences for each part whose checks failed, without the name of the part.
  std::map<part_name, std::vector<std::string>> faults{};
  std::map<part_name, std::map<std::string, double>> seconds{};  ///< time of the checks, by property
  std::filesystem::path folder{};                                ///< folder of the report, as the user wrote it
  candidate_limits limits{};
  run_record run{};
  /// Likely mistakes that fail nothing, such as an unknown operation in the candidate's hello.
  std::vector<std::string> warnings;
  std::optional<adapter_fault> start_fault{};
  /// Faults of first calls. Unless later calls were answered, the checks were not run.
  std::vector<adapter_fault> adapter_faults;
  /// Faults on the long sequences on which the horizon is measured.
  std::vector<adapter_fault> horizon_faults{};
  std::vector<excused_check> excused;
  /// Set if only some of the checks were requested.
  std::vector<std::string> only_properties, only_families;
  shard part_of{};
  /// The golden sets with which outputs were compared; empty if cases were drawn from an effort and a seed.
  std::filesystem::path golden{};
  std::string golden_arithmetic{};  ///< the arithmetic given to `golden check`; empty: none
};

/// The number of checks that ended in each way.
struct check_counts {
  std::size_t checks = 0, passed = 0, failed = 0, uninformative = 0, skipped = 0;
  std::size_t consequences = 0;  ///< among the failed ones
};
check_counts count_checks(const gate_report& r);

/// "passed", "failed", "uninformative" or "skipped" (unsupported, or outside the declared domain).
const char* verdict_word(const properties::check_result& c);
/// "tree"; "none: a bug"; "none: near a bug" if it passed and no law explains it with the class slack; "one algorithm"
/// if the operation has no classes; "exact" if all its tensors are integers; or "not decided".
std::string class_word(const properties::check_result& c);
/// Whether all tensors of an operation are integers: nothing is rounded there, and a call has no dtype.
bool is_exact(const core::operation& op);
/// "f32", or "i64" for an operation on integers alone.
std::string dtype_word(const properties::check_result& c);
/// "7 digits up to position 15, 4 up to position 2047": properties::check_result::digits; "none in some cases" if there
/// are none; empty if errors do not grow.
std::string digits_in_words(const properties::check_result& c);
/// The largest ratio of error to 1.25 times the law of its class, or to the law if the operation has one algorithm;
/// nothing if nothing was decided.
std::optional<double> ratio_to_own_law(const properties::check_result& c);
/// The classes of the operation, with `uniform`; none if it has one algorithm.
std::vector<reference::accuracy_class> classes_of(const core::operation& op);
/// The classes whose laws were used in every case: up to the one that explains the check, or the first two for a failed
/// check. Wider laws are computed only for the cases that need them.
std::vector<reference::accuracy_class> classes_of(const properties::check_result& c);
/// The unit of an operation's ulps: "max(1, |x|)", "|x|", or several of them.
std::string scale_words(const core::operation& op);
/// The meaning of an ulp in the tables of a report.
inline constexpr const char* ulp_words =
    "An ulp is one of max(1, |x|) where values pass through zero, of |x| where they do not (slopes, frequencies, "
    "decays "
    "and biases), and of the largest |x| of a row that turns or is averaged as a whole.";
/// The largest error over all cases of the check, in ulp of the outputs' scales.
double largest_error_ulp(const properties::check_result& c);
/// The entries of by_growth that hold drawn cases. The horizon adds entries that have digits, but neither cases nor
/// laws.
std::map<std::uint64_t, properties::error_there> drawn_growth(const properties::check_result& c);
/// The kind of a failure in which the program itself works, and its outputs are wrong.
inline constexpr const char* wrong_result = "wrong_result";
/// The kind of a failure, for programs: kind_of the candidate's fault, or wrong_result.
const char* failure_kind(const properties::check_result& c);
/// The refusals that a check met: "does not take B = 0, nor n = 0: ValueError: no tokens".
std::string refusals_in_words(const properties::check_result& c);
using properties::without_digits;
/// The operations and reasons of calls that the candidate declined, each reason once.
std::vector<std::pair<std::string, std::string>> declined_calls(const gate_report& r);
/// Why a check neither passed nor failed; empty for other checks.
std::string reason_of(const gate_report& r, const properties::check_result& c);
/// The end of a stderr that a report shows: at most 20 lines and 2000 bytes, each line plain().
std::vector<std::string> stderr_lines(std::string_view errors);
/// The text that the candidate wrote to stderr before it ended or was stopped. Each text appears once, with the places
/// where it occurred.
struct stderr_excerpt {
  std::vector<std::string> places, lines;
};
std::vector<stderr_excerpt> stderr_excerpts(const gate_report& r);
/// The number of stderr texts in summary.md and index.html; further texts are only in report.json.
inline constexpr std::size_t stderr_shown = 4;
/// "value of heinsen/scan in f32", and how many more places.
std::string places_in_words(const stderr_excerpt& e);
/// The sentences of complaints.
std::vector<std::string> texts_of(const std::vector<complaint>& complaints);
/// "24 checks: 17 passed, 4 failed (3 of them only by the fault of another check), 3 uninformative"
std::string counts_in_words(const gate_report& r);
/// The checks that fail because of the fault that this check has found.
std::vector<const properties::check_result*> consequences_of(const gate_report& r, const properties::check_result& c);
/// "This fault also fails 2 other checks: rotation_norms, shift."; empty if it fails no others.
std::string consequences_in_words(const gate_report& r, const properties::check_result& c);
/// The check that has found the fault by which this check fails; null if this check fails by a fault of its own.
const properties::check_result* cause_of(const gate_report& r, const properties::check_result& c);
/// Returns the faults of the operation of a failed check in its dtype, one sentence each, from the head of the report.
/// The result is empty if another operation accounts for the failure.
std::vector<std::string> faults_of(const gate_report& r, const properties::check_result& c);
/// " Taken as it is from it: reference.py:12: an array [3]."; empty if no array is.
std::string captured_in_words(const judged_formula& f);
/// The command that runs a counterexample again, or compares the outputs with the golden sets again, from the folder in
/// which the gate ran, quoted for a POSIX shell. It includes limits on the candidate that differ from the usual ones,
/// because the verdict may depend on them.
std::string replay_command(const gate_report& r, const properties::check_result& c);
/// The words before the case of a failed check: laws make other calls from it.
const char* smallest_case_words(const properties::check_result& c);
/// The domain that the candidate declares, by checked operation, then by input, axis, relation or setting: such as
/// `finite`, `in [-3, 3]` or `= "half_split"`.
std::map<std::string, std::map<std::string, std::string>> narrower_domains(const gate_report& r);
/// Whether a later setting is asked only with its standard value: a program that does not know the setting declares
/// nothing.
bool is_unnamed_convention(const std::string& operation, const std::string& setting,
                           const std::vector<core::attribute>& values);
/// The facts that a reader must know in addition to the verdict: parts that were not requested, known failures,
/// warnings.
std::vector<std::string> notes_of(const gate_report& r);
/// The known failure that excuses a check; null if there is none.
const excused_check* excuse_of(const gate_report& r, const properties::check_result& c);
/// "mutant/x 1": name and version.
std::string candidate_title(const gate_report& r);
run_record run_started_now();

/// The schema is assay-report/1. The last member says that it is complete: a report without it is truncated.
nlohmann::ordered_json to_json(const gate_report& r);
std::string to_markdown(const gate_report& r);
/// Annotations for a job of GitHub Actions: an error for each fault and a warning for each warning, one on each line.
std::string to_github(const gate_report& r);
std::string to_junit(const gate_report& r);
/// One self-contained page without scripts.
std::string to_html(const gate_report& r);

/// "value-rope-rotate-f32": the id of a check with a counterexample, on the page.
std::string failure_id(const properties::check_result& c);
/// The file name of a counterexample in the folder counterexamples/.
std::string counterexample_name(const properties::check_result& c);

/// Makes the folder and removes files of an earlier run: they would be taken for files of this run.
core::result<void> prepare_report(const std::filesystem::path& folder);

/// Writes report.json, junit.xml, summary.md, index.html and counterexamples/*.json, each under a temporary name first.
/// Returns the text of summary.md.
core::result<std::string> write_report(const gate_report& r, const std::filesystem::path& folder);

}  // namespace assay::tools
