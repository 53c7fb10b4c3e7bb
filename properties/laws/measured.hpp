// A call together with the error that the verdict allows each of its outputs: what inequalities and
// identities between computed numbers need.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "properties/property.hpp"

namespace assay::properties {

struct measured_call {
  core::tensors outputs;
  /// By output and flat index: bug_slack * u * k + half an ulp; infinite where any finite number is right.
  std::map<std::string, std::vector<double>> allowed;
};

/// Evaluates a case that lies in the declared domain; else, or where the call gave no outputs, the outcome.
tl::expected<measured_call, outcome> measure(implementation& under_test, const test_case& c);

/// `c` with other inputs.
test_case with_inputs(const test_case& c, core::tensors inputs);

/// The inputs of the tokens [first, last) alone, states and parameters as they are.
core::tensors tokens_of(const test_case& c, std::size_t first, std::size_t last);

/// Equal as values, or finite and not further apart than `allowed`.
bool agree(double x, double y, double allowed);

/// A failed comparison of what the outputs should be with what they are.
outcome violated(std::string message, core::tensors expected, core::tensors actual);

/// Compares `actual[to[i]]` with `expected[from[i]]` for all i, element by element of one output, each within
/// the errors allowed to both; nothing where they agree.
std::optional<std::string> compare_elements(const std::string& output, const measured_call& expected,
                                            const std::vector<std::size_t>& from, const measured_call& actual,
                                            const std::vector<std::size_t>& to);

}  // namespace assay::properties
