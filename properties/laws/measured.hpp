// A call together with the error that the verdict allows each of its outputs: what inequalities and
// identities between computed numbers need.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "properties/harness/property.hpp"

namespace assay::properties {

struct measured_call {
  core::tensors outputs;
  /// By output and flat index: bug_slack * u * k + half an ulp; infinite where any finite number is right.
  std::map<std::string, std::vector<double>> allowed;
};

/// Evaluates a case that lies in the declared domain; else, or where the call gave no outputs, the outcome.
tl::expected<measured_call, outcome> measure(implementation& under_test, const test_case& c);

/// Outputs of a case, with the errors that they are allowed.
measured_call with_allowances(const description& about, const test_case& c, core::tensors outputs);

/// `c` with other inputs.
test_case with_inputs(const test_case& c, core::tensors inputs);

/// The inputs of the tokens [first, last) alone, states and parameters as they are.
core::tensors tokens_of(const test_case& c, std::size_t first, std::size_t last);

/// Equal as values, or finite and not further apart than `allowed`.
bool agree(double x, double y, double allowed);

/// The comparisons of a law, and whether any of them could have failed: where the allowed difference is more than half
/// of what is compared, or infinite, agreement says nothing.
class comparisons {
 public:
  /// agree(x, y, allowed). `scale`: the size of what is compared, where x and y may cancel to less.
  bool agree(double x, double y, double allowed, double scale = 0.0) {
    const double size = std::max({std::fabs(x), std::fabs(y), scale});
    count(!std::isfinite(size) || allowed <= size / 2.0);
    return properties::agree(x, y, allowed);
  }
  /// A comparison that was made otherwise.
  void count(bool informative) { informative_ = informative_ || informative; }
  /// Passed, or uninformative where no comparison could have failed, or there was none.
  [[nodiscard]] outcome result() const { return {informative_ ? status::passed : status::uninformative}; }

 private:
  bool informative_ = false;
};

/// A failed comparison of what the outputs should be with what they are.
outcome violated(std::string message, core::tensors expected, core::tensors actual);

}  // namespace assay::properties
