// What is wrong, in one plain sentence: which known fault explains what an implementation gives, else the facts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/diagnosis/repetition.hpp"
#include "properties/harness/property.hpp"

namespace assay::properties {

struct diagnosis {
  /// An entry of the fault dictionary that explains everything wrong, the counterexample and fresh cases; with what it
  /// is confined to. Before it, precisions of stages that do. Or that equal calls differ.
  std::optional<std::string> explained;
  /// The entries that it names: mutants by their id.
  std::vector<std::string> named{};
  /// Else what can be said without one: which outputs, lengths and families are wrong. Nothing where all probes are
  /// right.
  std::optional<std::string> facts;
  /// What is wrong in a setting of its own alone, where no entry explains it.
  std::vector<std::string> of_settings{};
  /// Of a derivative: in some call that is wrong the function itself is right.
  bool function_is_right = false;
  /// Equal calls give other bits, not more than rounding explains.
  std::optional<std::string> other_bits;
  /// Properties whose counterexample passed when it was run again.
  std::vector<std::string> vanished{};
  /// Properties that fail by wrong values alone, where a property that compares with the truth has failed.
  std::vector<std::string> consequences{};
  /// With which sizes calls are answered with an error (where_unanswered), of a failed case that is.
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
  std::vector<failed_case> failed{};  ///< run again first: what they call is the counterexample
  std::uint64_t seed = 1;
  fresh_start fresh{};
  std::string left_out{};  ///< the id of an entry that is not named: a test asks what is said without it
};

/// Asks an implementation that failed a check of the operation: whether equal calls give equal bits, then about 100
/// cases: the counterexamples, cases like them, three rows of mild inputs at many lengths, and short cases of every
/// family. Whatever the implementation is called plays no part.
diagnosis diagnose(implementation& under_test, const core::operation& op, core::dtype type,
                   const diagnosis_options& options);

}  // namespace assay::properties
