// Runs the planned cases of a property and shrinks the first failure, for Catch2 and for the command line alike.
//
// Cases are drawn and shrunk by RapidCheck (case_generator.hpp). rc::check itself serves the tests: it hands its
// counterexample out as text alone, and reports need the typed minimum, the ratios of every case and an end to
// patience.
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
  /// Sizes that the encoding declares as usual: those of a quick run, or all; and others besides. For properties that
  /// compare with the truth.
  enum class usual { none, some, all } sizes = usual::none;
  /// Usual sizes of which a tensor has more are left out.
  std::size_t most_elements = std::numeric_limits<std::size_t>::max();
  std::vector<core::axis_sizes> shapes{};
  std::vector<case_key> first{};  ///< cases before all others, for properties that compare with the truth
  /// Truths and allowances are found beforehand on all cores. Worth it where the implementation is likely to pass:
  /// after a failure the rest was in vain.
  bool prepares = false;
  /// Runs the whole plan, whatever fails, and shrinks nothing: for those who want to see every call.
  bool goes_on = false;
  /// The candidate is not asked any more: what is left of the check is not run.
  std::function<bool()> stopped = [] { return false; };
  /// A case of given sizes that is not asked, and counts as unsupported: it would take too long.
  std::function<bool(const test_case&)> leaves_out = [](const test_case&) { return false; };
  std::chrono::steady_clock::duration shrink_time = std::chrono::hours(1);  ///< at most, for each counterexample
};

struct counterexample {
  test_case original, minimal;
  outcome shown;                 ///< of the minimal case
  bool reference_passes = true;  ///< the certified truth itself passes the property there
};

/// The largest error among the cases that have about as much of what errors grow with.
struct error_there {
  std::size_t cases = 0;
  double farthest = 0;     ///< the most of it that one of these cases has
  double largest_ulp = 0;  ///< in ulp of the output's scale (core::error_scales), in the storage dtype
  /// By class: what the law allows the element with that error, in the same unit; and the largest ratio of error
  /// to law of any element.
  std::array<double, reference::accuracy_classes.size()> law_ulp{}, ratios{};
  bool failed = false;  ///< one of these cases is a bug
  /// The largest error, in ulp, and the farthest, of those of these cases by which a report says how many digits are
  /// kept (error_growth::of_mild_inputs); there are none where `digits_farthest` is below 0.
  double digits_ulp = 0, digits_farthest = -1;
};

/// The largest error, where what it grows with is at most `farthest`, is at most 10^-digits of the output's scale.
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
/// A message with 0 for every digit: messages that differ in sizes alone are equal then.
std::string without_digits(std::string text);

/// One property of one operation in one dtype.
struct check_result {
  const property* checked = nullptr;
  const core::operation* operation = nullptr;
  core::dtype type{};
  std::size_t planned = 0;                      ///< cases, had none failed
  std::map<status, std::size_t> cases;          ///< how many ended how
  std::map<std::string, std::size_t> families;  ///< informative cases by family
  std::vector<std::string> families_skipped;    ///< declared, without one case inside the domain
  /// By class: the largest ratio of error to 1.25 times the law, the case that reached it, and how many
  /// cases need that class.
  std::array<double, reference::accuracy_classes.size()> ratios{};
  std::array<std::optional<std::string>, reference::accuracy_classes.size()> forced_by;
  std::array<std::size_t, reference::accuracy_classes.size()> needed_by{};
  double largest_ulp = 0;
  core::axis_sizes largest_sizes;  ///< of each axis, among the cases that were judged and that tell something
  /// The largest ratio of error to allowance, where a bug begins above 1, by family; the largest errors by the
  /// largest power of two that is at most what they grow with (core::error_growth), or 1. Both of the cases as drawn, a
  /// failing one included.
  std::map<std::string, double> error_to_allowance;
  std::map<std::uint64_t, error_there> by_growth;
  element_report worst;  ///< by the ratio to its allowance
  std::string worst_case;
  std::optional<suspicion> suspicious{};  ///< of the mild case with the most elements
  std::string suspicious_case{};
  std::optional<counterexample> found;
  std::vector<refusal> refused{};          ///< of each axis the first
  std::vector<declined_cases> declined{};  ///< the first reasons; those that differ in digits alone are one
  /// It failed, and passes where wrong outputs are replaced by the truth: the property that compares with the truth
  /// has found the fault.
  bool is_consequence = false;

  [[nodiscard]] std::size_t count(status s) const;
  [[nodiscard]] std::size_t run() const;
  /// Up to where there are so many digits: of the error's scale, in every case that was drawn, or every mild one
  /// (error_growth::of_mild_inputs). The most digits first; none where errors grow with nothing.
  [[nodiscard]] std::vector<digits_up_to> digits() const;
  /// Whether there are outputs with digits, and cases that tell how many.
  [[nodiscard]] bool tells_digits() const;
  /// failed; passed where some case was informative; else unsupported, outside_domain or uninformative.
  [[nodiscard]] status verdict() const;
  /// The first class whose law explains all cases; nothing where the check passed none, or none does.
  [[nodiscard]] std::optional<reference::accuracy_class> explaining_class() const;
  /// The same as a reader is told: an operation with one algorithm has no class.
  [[nodiscard]] std::optional<reference::accuracy_class> accuracy_class() const;
  /// Of an operation with one algorithm: the largest ratio of the error beyond the last rounding to its law; a bug
  /// begins at bug_slack. Nothing where the check did not pass, or there are classes.
  [[nodiscard]] std::optional<double> share_of_law() const;
};

/// The values that settings of cases are drawn from: those that are declared. Of a recorded candidate all, as when its
/// cases were exported, but for what came with a later list; cases with values that it does not declare are outside its
/// domain.
setting_values settings_to_draw(const description& about, const core::operation& op);

/// The key of a case inside what an implementation declares. Of a recording every exported case is asked.
case_key key_for(const description& about, const core::operation& op, core::dtype type, std::string family,
                 std::uint64_t seed, extent size);

/// That of a case of the mild family.
case_key mild_key_for(const description& about, const core::operation& op, core::dtype type, std::uint64_t seed,
                      extent size);

/// The key of a mild case with standard settings: of these sizes, or the nearest declared ones.
case_key key_of_call(const description& about, const core::operation& op, core::dtype type, std::uint64_t seed,
                     core::axis_sizes wanted);

/// The class must explain this case too, which was judged elsewhere and passed; it is none of the property's cases.
void widen_class(check_result& r, const test_case& c, const value_report& value);

/// Adds a case and what came of it. Of one that failed the counterexample is left to the caller.
void record_case(check_result& r, const test_case& c, const outcome& o);

/// Whether run_options::most_elements leaves out a size that the operation would be tried with.
bool leaves_out_usual_sizes(const core::operation& op, const run_options& options);

/// The keys of the cases that a property is run over, in their order. The same options give the same keys.
std::vector<case_key> plan_of(const property& p, const description& about, const core::operation& op, core::dtype type,
                              const run_options& options);

/// Runs the plan until the first failure, which is shrunk.
check_result run_property(const property& p, implementation& under_test, const core::operation& op, core::dtype type,
                          const run_options& options);

/// All properties that apply to the operation and that the implementation offers.
std::vector<check_result> run_properties(implementation& under_test, const core::operation& op, core::dtype type,
                                         const run_options& options);

}  // namespace assay::properties
