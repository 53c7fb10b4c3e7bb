// What is wrong, in one plain sentence: which wrong model explains what an implementation gives, else the facts.
#pragma once

#include <optional>
#include <string>

#include "properties/harness/hypothesis.hpp"
#include "properties/harness/property.hpp"

namespace assay::properties {

struct diagnosis {
  /// A hypothesis that explains everything wrong: the counterexample and at least two fresh cases, none
  /// contradicting it; with the lengths to which it is confined.
  std::optional<std::string> explained;
  /// Else what can be said without one: which outputs, lengths and families are wrong. Nothing where all
  /// probes are right.
  std::optional<std::string> facts;
};

/// Puts about 80 probing cases to an implementation that failed a check of the operation: two rows of mild inputs at
/// many lengths, and short cases of every family; and the counterexample, where one is given. Whatever the
/// implementation is called plays no part.
diagnosis diagnose(implementation& under_test, const core::operation& op, core::dtype type,
                   const test_case* counterexample, std::uint64_t seed);

}  // namespace assay::properties
