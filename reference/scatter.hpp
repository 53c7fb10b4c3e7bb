// How far roundings scatter an output: the error of plain arithmetic when each rounding goes up or down at random.
//
// An allowance (oracle.hpp) is a worst case: it lets every rounding fall the same way. Where many roundings meet, as in
// a gradient that sums over all pairs, it is thousands of times the error of any program. With independent roundings
// the error is a sum of bounded random numbers, which is beyond z of its standard deviations with a chance of at most 2
// exp(-z^2 / 2) (Hoeffding 1963; for roundings: Higham and Mary 2019). The deviations come from runs of the formula
// itself with random roundings (Parker 1997, Monte Carlo Arithmetic), in all formats and stages. This needs no other
// reading of the formula.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reference/oracle.hpp"

namespace assay::reference {

/// The errors of one output against the truth, by element; NaN where the error is not finite.
struct scatter {
  std::vector<std::vector<double>> at_random;  ///< the errors of each run
  std::vector<double> to_nearest;              ///< the errors of plain arithmetic
  /// The root of the mean square of the runs.
  [[nodiscard]] std::vector<double> deviations() const;
};

/// The scatter of the algorithm of class c in the formats `compute`, before outputs are rounded to storage. There are
/// `runs` random runs; with 0 runs there are no deviations, and the cost is one evaluation. Precondition: c is not
/// uniform, and `truth` is the truth of the call.
std::map<std::string, scatter> scatter_of(const core::request& call, const core::precisions& compute, accuracy_class c,
                                          const certified_outputs& truth, std::size_t runs);

}  // namespace assay::reference
