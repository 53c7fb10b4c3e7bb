// A call with the error that the verdict allows each of its outputs: needed for inequalities and identities between
// computed numbers.
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
  /// For each output and flat index: bug_slack * u * k + half an ulp; infinite where any finite number is right.
  std::map<std::string, std::vector<double>> allowed;
};

/// Evaluates a case that lies in the declared domain; returns the outcome if it lies outside or gave no outputs.
tl::expected<measured_call, outcome> measure(implementation& under_test, const test_case& c);

/// The outputs of a case, with the errors allowed to them.
measured_call with_allowances(const description& about, const test_case& c, core::tensors outputs);

/// `c` with other inputs.
test_case with_inputs(const test_case& c, core::tensors inputs);

/// The inputs of the tokens [first, last) alone; states and parameters do not change.
core::tensors tokens_of(const test_case& c, std::size_t first, std::size_t last);

/// Equal as values, or finite and not further apart than `allowed`.
bool agree(double x, double y, double allowed);

/// The comparisons of a law, and whether any of them could have failed: if the allowed difference is infinite, or more
/// than half of the compared size, agreement says nothing.
class comparisons {
 public:
  /// agree(x, y, allowed). `scale`: the size of the compared quantity, if x and y may cancel to less.
  bool agree(double x, double y, double allowed, double scale = 0.0) {
    const double size = std::max({std::fabs(x), std::fabs(y), scale});
    count(!std::isfinite(size) || allowed <= size / 2.0);
    return properties::agree(x, y, allowed);
  }
  /// Counts a comparison that was made in another way.
  void count(bool informative) { informative_ = informative_ || informative; }
  /// Passed; uninformative if there was no comparison, or none could have failed.
  [[nodiscard]] outcome result() const { return {informative_ ? status::passed : status::uninformative}; }

 private:
  bool informative_ = false;
};

/// A failed comparison between expected and actual outputs.
outcome violated(std::string message, core::tensors expected, core::tensors actual);

}  // namespace assay::properties
