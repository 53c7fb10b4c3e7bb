// Errors inside the worst-case bound that roundings do not make: a second bound beside the laws (verdict.hpp).
//
// An error beyond z standard deviations of the sum of random roundings (reference/scatter.hpp) has a chance of 2^-40 in
// a tensor. It is no proof of a bug: roundings are not random numbers, and another right algorithm may round more than
// the formula as it is written. So it is reported, and fails only a strict run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "properties/harness/case.hpp"
#include "properties/harness/verdict.hpp"
#include "reference/scatter.hpp"

namespace assay::properties {

/// A suspicion about one output.
struct suspicion {
  enum class sign : std::uint8_t {
    element,    ///< one element errs by more than roundings do
    size,       ///< all elements together do: the mean square of errors, each over its deviation
    direction,  ///< the mean of errors, each over its deviation: the errors lie on one side
  };
  sign seen = sign::element;
  std::string output{};
  std::string place{};   ///< "grad_q[0, 3]": the element with the largest error over its deviation
  double error = 0;      ///< error of that element
  double deviation = 0;  ///< standard deviation of roundings there
  double allowed = 0;    ///< worst-case allowance there
  double times = 0;      ///< ratio to the most that roundings make of such a quantity; above 1
};
/// "grad_q[0, 3] errs by 0.31, 2.4e+03 times the deviation of roundings there (0.00013); ...".
std::string in_words(const suspicion& s);

/// The number of runs with random roundings from which deviations are taken.
inline constexpr std::size_t scatter_runs = 32;

/// The error that an element may have before it is suspicious, without the last rounding to storage. It is the largest
/// of: the number of deviations that has a chance of 2^-40 in a tensor (of Student's distribution, since deviations are
/// estimated); four times the error of plain arithmetic, which shows where a format stagnates and where all roundings
/// of equal numbers go the same way; eight units of roundoff. Infinite if a run gives no number, or if no run errs.
std::vector<double> statistical_bounds(const reference::scatter& s, const reference::certified& truth,
                                       core::dtype compute);

/// The errors that roundings make in a call, for any outputs of it. A large call with independent lanes is represented
/// by one part.
class usual_errors {
 public:
  usual_errors(const request& call, const core::precisions& compute);

  /// Returns the suspicion about outputs that are no bug, for any of the operation's algorithms: the output and the
  /// quantity that exceed their bounds most. Returns nothing if none exceeds its bound, or if allowances are less than
  /// `least_allowance_ratio` times the error of plain arithmetic, because such allowances are tight enough. Scans get
  /// no suspicion: right scans have more algorithms than classes (in chunks, adjoints in logarithms), and their class
  /// says what they lose. Tables get none either, because few terms are summed there.
  [[nodiscard]] std::optional<suspicion> suspicion_of(const core::tensors& outputs) const;

 private:
  struct parts;
  std::shared_ptr<const parts> parts_;
};
inline constexpr double least_allowance_ratio = 30;

/// The same for a case that an implementation has passed: the call is made once more. The case is a mild one: for
/// extreme numbers, other right code rounds where the formula does not.
std::optional<suspicion> suspicion_of(implementation& passed, const test_case& c);

}  // namespace assay::properties
