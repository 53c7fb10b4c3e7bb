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
  /// An entry of the fault dictionary that explains everything wrong in the counterexample and in fresh cases, with the
  /// cases to which it is confined. Before it stand precisions of stages that explain it. Or the sentence that equal
  /// calls differ.
  std::optional<std::string> explained;
  /// The entries that `explained` names: mutants by their id.
  std::vector<std::string> named{};
  /// Without an explanation: which outputs, lengths and families are wrong. Nothing if all probes are right.
  std::optional<std::string> facts;
  /// Sentences about faults that occur only with some setting of the implementation's own, if no entry explains them.
  std::vector<std::string> of_settings{};
  /// For a derivative: in some wrong call the function itself is right.
  bool function_is_right = false;
  /// Equal calls give different bits, but differ by no more than rounding explains.
  std::optional<std::string> other_bits;
  /// Properties whose counterexample passed when it was run again.
  std::vector<std::string> vanished{};
  /// Properties that fail only because values are wrong, if a property that compares with the truth has failed.
  std::vector<std::string> consequences{};
  /// For a failed case that is answered with an error: the sizes at which calls are (where_unanswered).
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
  std::vector<failed_case> failed{};  ///< run again first; their wrong calls are the counterexamples
  std::uint64_t seed = 1;
  fresh_start fresh{};
  std::string left_out{};  ///< the id of an entry that is not named: a test asks for the diagnosis without it
};

/// Asks an implementation that failed a check of the operation: first whether equal calls give equal bits, then about
/// 100 cases: the counterexamples, cases like them, three rows of mild inputs at many lengths, and short cases of every
/// family. The name of the implementation plays no part.
diagnosis diagnose(implementation& under_test, const core::operation& op, core::dtype type,
                   const diagnosis_options& options);

}  // namespace assay::properties
