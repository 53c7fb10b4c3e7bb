// Errors within the worst case that roundings do not make: the second bound beside that of the laws (verdict.hpp).
//
// An error beyond z standard deviations of what random roundings add up to (reference/scatter.hpp) has a chance of
// 2^-40 in a tensor. It is no proof of a bug: roundings are no random numbers, and another right algorithm may round
// more than the formula as it is written. So it is said, and fails a run that is asked to be strict.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "properties/harness/case.hpp"
#include "properties/harness/verdict.hpp"
#include "reference/scatter.hpp"

namespace assay::properties {

/// Of one output.
struct suspicion {
  enum class sign : std::uint8_t {
    element,    ///< one element errs by more than roundings do
    size,       ///< all together do: the mean square of errors, each over its deviation
    direction,  ///< the mean of errors, each over its deviation: they lie on one side
  };
  sign seen = sign::element;
  std::string output{};
  std::string place{};   ///< "grad_q[0, 3]": the element with the largest error over its deviation
  double error = 0;      ///< of that element
  double deviation = 0;  ///< of roundings there
  double allowed = 0;    ///< by the worst case there
  double times = 0;      ///< of what roundings make of such a quantity at most; above 1
};
/// "grad_q[0, 3] errs by 0.31, 2.4e+03 times the deviation of roundings there (0.00013); ...".
std::string in_words(const suspicion& s);

/// Runs with random roundings that deviations are taken from.
inline constexpr std::size_t scatter_runs = 32;

/// What an element may err by before it is suspicious, without the last rounding to storage: as many deviations as have
/// a chance of 2^-40 in a tensor (of Student's distribution, since deviations are estimated), or four times what plain
/// arithmetic errs by, which knows where a format stagnates and where all roundings of equal numbers fall alike, or
/// eight units of roundoff. Infinite where a run gives no number.
std::vector<double> statistical_bounds(const reference::scatter& s, const reference::certified& truth,
                                       core::dtype compute);

/// What roundings make of a call, for any outputs of it. Of a large call whose lanes are independent one part is asked.
class usual_errors {
 public:
  usual_errors(const request& call, const core::precisions& compute);

  /// What is suspicious of outputs that are no bug, whichever of the operation's algorithms made them: the output and
  /// the quantity that exceed most; nothing where none does, or where allowances are less than `worth_asking` times
  /// what plain arithmetic errs by: they see enough. Scans are not asked: right ones have more algorithms than classes
  /// (in chunks, adjoints in logarithms), and their class says what they lose.
  [[nodiscard]] std::optional<suspicion> suspicion_of(const core::tensors& outputs) const;

 private:
  struct parts;
  std::shared_ptr<const parts> parts_;
};
inline constexpr double worth_asking = 30;

/// The same of a case that an implementation has passed: it is asked once more. The case is a mild one, since where
/// numbers are extreme other right code rounds what the formula does not.
std::optional<suspicion> suspicion_of(implementation& passed, const test_case& c);

}  // namespace assay::properties
