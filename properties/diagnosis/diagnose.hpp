// Says in one plain sentence what is wrong: the known fault that explains the outputs of an implementation, else the
// facts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/diagnosis/repetition.hpp"
#include "properties/harness/property.hpp"

namespace assay::properties {

struct diagnosis {
  /// The words of the entries of the fault dictionary that explain everything wrong in the counterexamples and in fresh
  /// cases, with the cases to which the fault is confined. If other precisions of stages explain everything too, they
  /// stand before these words. If equal calls differ, it is the sentence that says so.
  std::optional<std::string> explained;
  /// The ids of the entries that `explained` names.
  std::vector<std::string> named{};
  /// Without an explanation: which outputs, lengths and families are wrong. Nothing if all probes are right.
  std::optional<std::string> facts;
  /// Sentences about faults that occur only with a setting of the implementation's own, which the operation does not
  /// declare. They are given if no entry explains the faults.
  std::vector<std::string> of_settings{};
  /// For a derivative: in some wrong call the function itself is right.
  bool function_is_right = false;
  /// Equal calls give different bits, but differ by no more than rounding explains.
  std::optional<std::string> other_bits;
  /// Properties whose counterexample passed when it was run again.
  std::vector<std::string> vanished{};
  /// Properties that fail only because values are wrong, if a property that compares with the truth has failed.
  std::vector<std::string> consequences{};
  /// If a failed case is answered with an error: the sizes at which calls are answered so (where_unanswered).
  std::optional<std::string> unanswered{};

  [[nodiscard]] bool says_something() const {
    return explained || facts || !of_settings.empty() || other_bits || !vanished.empty();
  }
};

/// A property that failed, and its counterexample.
struct failed_case {
  const property* checked = nullptr;
  test_case shown{};
};

struct diagnosis_options {
  std::vector<failed_case> failed{};  ///< run again first; the wrong calls that they make are the counterexamples
  std::uint64_t seed = 1;
  fresh_start fresh{};
  std::string left_out{};  ///< the id of an entry that is not named: a test asks for the diagnosis without it
};

/// Examines an implementation that failed a check of the operation. It runs the failed cases again, and tests whether
/// equal calls give equal bits. Then it judges about 100 cases: the counterexamples, cases like them, three rows of
/// mild inputs at many lengths, and short cases of every family. The name of the implementation plays no part.
diagnosis diagnose(implementation& under_test, const core::operation& op, core::dtype type,
                   const diagnosis_options& options);

}  // namespace assay::properties
