// Runs the planned cases of a property and shrinks the first failure, for Catch2 and for the command line alike.
//
// RapidCheck draws and shrinks the cases (case_generator.hpp). rc::check itself serves the tests: it gives its
// counterexample only as text, but reports need the typed minimum, the ratios of every case and a limit on time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "properties/harness/property.hpp"
#include "properties/harness/suspicion.hpp"

namespace assay::properties {

struct run_options {
  std::uint64_t seed = 1;
  std::size_t cases = 12;            ///< per family, of short lengths; the property's cost divides it
  std::size_t shrink_calls = 400;    ///< checks spent on making a counterexample smaller
  bool long_lengths = true;          ///< for properties that decide classes
  std::set<std::string> families{};  ///< only these; empty: all
  /// Sizes that the encoding declares as usual, and further ones: those of a quick run, or all. For properties that
  /// compare with the truth.
  enum class usual { none, some, all } sizes = usual::none;
  /// Usual sizes with a tensor of more elements are left out.
  std::size_t most_elements = std::numeric_limits<std::size_t>::max();
  std::vector<core::axis_sizes> shapes{};  ///< sizes requested by number, in addition to the usual ones
  std::vector<case_key> first{};           ///< cases before all others, for properties that compare with the truth
  /// Truths and allowances are computed beforehand on all cores. This is worth it if the implementation is likely to
  /// pass: after a failure the rest was in vain.
  bool prepares = false;
  /// Runs the whole plan despite failures, and shrinks nothing: for users who want to see every call.
  bool goes_on = false;
  /// If true, the candidate gets no more calls: the rest of the check is not run.
  std::function<bool()> stopped = [] { return false; };
  /// A case of given sizes that would take too long: the candidate does not get it, and it counts as unsupported.
  std::function<bool(const test_case&)> leaves_out = [](const test_case&) { return false; };
  std::chrono::steady_clock::duration shrink_time = std::chrono::hours(1);  ///< at most, for each counterexample
};

struct counterexample {
  test_case original, minimal;
  outcome shown;                 ///< outcome of the minimal case
  bool reference_passes = true;  ///< the certified truth passes the property on the original case
};

/// The largest error among the cases for which errors grow to about the same extent.
struct error_there {
  std::size_t cases = 0;
  double farthest = 0;     ///< the largest value, among these cases, of the quantity with which errors grow
  double largest_ulp = 0;  ///< in ulp of the output's scale (core::error_scales), in the storage dtype
  /// For each class: the error that the law allows the element with that error, in the same unit; and the largest ratio
  /// of error to law over all elements.
  std::array<double, reference::accuracy_classes.size()> law_ulp{}, ratios{};
  bool failed = false;  ///< one of these cases is a bug
  /// The largest error in ulp, and the farthest reach, of those cases from which a report states how many digits are
  /// kept (error_growth::of_mild_inputs); there are no such cases if `digits_farthest` is below 0.
  double digits_ulp = 0, digits_farthest = -1;
};

/// Where the quantity with which errors grow is at most `farthest`, the largest error is at most 10^-digits of the
/// output's scale.
struct digits_up_to {
  int digits = 0;
  double farthest = 0;
  friend bool operator==(const digits_up_to&, const digits_up_to&) = default;
};

/// Cases that the implementation declined for one reason.
struct declined_cases {
  std::string reason;
  std::size_t cases = 0;
};
/// A message with 0 for every digit: messages that differ only in sizes become equal.
std::string without_digits(std::string text);

/// One property of one operation in one dtype.
struct check_result {
  const property* checked = nullptr;
  const core::operation* operation = nullptr;
  core::dtype type{};
  std::size_t planned = 0;                      ///< the number of cases if none fails
  std::map<status, std::size_t> cases;          ///< how many cases ended in each status
  std::map<std::string, std::size_t> families;  ///< informative cases by family
  std::vector<std::string> families_skipped;    ///< declared families without a case inside the domain
  /// For each class: the largest ratio of error to 1.25 times the law, the case that reached it, and the number of
  /// cases that need that class.
  std::array<double, reference::accuracy_classes.size()> ratios{};
  std::array<std::optional<std::string>, reference::accuracy_classes.size()> forced_by;
  std::array<std::size_t, reference::accuracy_classes.size()> needed_by{};
  double largest_ulp = 0;
  core::axis_sizes largest_sizes;  ///< the largest size of each axis, among judged cases that are informative
  /// For each family: the largest ratio of error to allowance; a bug begins above 1. This map and the next one describe
  /// the cases as drawn, a failing one too, and no smaller case.
  std::map<std::string, double> error_to_allowance;
  /// The largest errors, by the quantity with which errors grow (core::error_growth), rounded down to a power of two; 1
  /// for smaller quantities.
  std::map<std::uint64_t, error_there> by_growth;
  element_report worst;  ///< the element with the largest ratio to its allowance
  std::string worst_case;
  std::optional<suspicion> suspicious{};  ///< from the mild case with the most elements
  std::string suspicious_case{};
  std::optional<counterexample> found;
  std::vector<refusal> refused{};          ///< the first refusal of each axis
  std::vector<declined_cases> declined{};  ///< the first reasons; reasons that differ only in digits count as one
  /// It failed, and passes if the truth replaces wrong outputs: the property that compares with the truth has found the
  /// fault.
  bool is_consequence = false;

  [[nodiscard]] std::size_t count(status s) const;
  [[nodiscard]] std::size_t run() const;
  /// Returns, for each number of digits of the error's scale, how far these digits are kept, in every drawn case or in
  /// every mild case (error_growth::of_mild_inputs). The most digits come first. The result is empty if errors do not
  /// grow.
  [[nodiscard]] std::vector<digits_up_to> digits() const;
  /// Whether there are outputs with digits, and cases that show how many.
  [[nodiscard]] bool tells_digits() const;
  /// `failed`; `passed` if some case was informative; else unsupported, outside_domain or uninformative.
  [[nodiscard]] status verdict() const;
  /// The first class whose law explains all cases; nothing if no class does, if the check did not pass, or if its
  /// property decides no class.
  [[nodiscard]] std::optional<reference::accuracy_class> explaining_class() const;
  /// The class as it is reported: an operation with one algorithm has no class.
  [[nodiscard]] std::optional<reference::accuracy_class> accuracy_class() const;
  /// For an operation with one algorithm: the largest ratio of the error beyond the last rounding to its law; a bug
  /// begins at bug_slack. Nothing if the check did not pass, or if the operation has classes.
  [[nodiscard]] std::optional<double> share_of_law() const;
};

/// The values from which settings of cases are drawn: the declared ones. A recorded candidate gets all values, as when
/// its cases were exported, except those that came with a later list; cases with values that it does not declare lie
/// outside its domain.
setting_values settings_to_draw(const description& about, const core::operation& op);

/// The key of a case inside the declared domain of an implementation. A recording is asked every exported case.
case_key key_for(const description& about, const core::operation& op, core::dtype type, std::string family,
                 std::uint64_t seed, extent size);

/// The same for a case of the mild family.
case_key mild_key_for(const description& about, const core::operation& op, core::dtype type, std::uint64_t seed,
                      extent size);

/// The key of a mild case with standard settings, and with these sizes or the nearest declared ones.
case_key key_of_call(const description& about, const core::operation& op, core::dtype type, std::uint64_t seed,
                     core::axis_sizes wanted);

/// Widens the class so that it explains this case, too. Precondition: the case passed.
void widen_class(check_result& r, const test_case& c, const value_report& value);

/// Adds a case and its outcome. If it failed, the caller must set the counterexample.
void record_case(check_result& r, const test_case& c, const outcome& o);

/// Whether run_options::most_elements leaves out some size at which the operation would be tried.
bool leaves_out_usual_sizes(const core::operation& op, const run_options& options);

/// The keys of the cases over which a property is run, in order. The same options give the same keys.
std::vector<case_key> plan_of(const property& p, const description& about, const core::operation& op, core::dtype type,
                              const run_options& options);

/// Runs the plan up to the first failure, and shrinks that failure.
check_result run_property(const property& p, implementation& under_test, const core::operation& op, core::dtype type,
                          const run_options& options);

/// Runs all properties that apply to the operation, if the implementation offers it.
std::vector<check_result> run_properties(implementation& under_test, const core::operation& op, core::dtype type,
                                         const run_options& options);

}  // namespace assay::properties
